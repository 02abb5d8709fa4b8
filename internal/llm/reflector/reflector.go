// Package reflector makes one model of two: one that acts, and one that writes the
// reflections (paper, 4.1.2: distinct models are fine-tuned for each).
//
//	m, err := reflector.New(actor, dpo)
//
// Everything goes to the actor but the line after an appended "reflection:", which
// the other model writes, on the same text. Both are closed together.
package reflector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

type model struct {
	llm.Model
	other llm.Model
	info  llm.Info
}

// New joins two models. The name is the actor's and, after a slash, what sets the
// reflector apart: "embedded/base+sft/dpo".
func New(actor, reflections llm.Model) (llm.Model, error) {
	if actor == nil || reflections == nil {
		return nil, errors.New("reflector: two models are needed")
	}
	i, o := actor.Info(), reflections.Info()
	name := o.Name
	if _, adapter, ok := strings.Cut(name, "+"); ok {
		name = adapter
	}
	sum := sha256.Sum256([]byte(i.Hash + "\x00" + o.Hash))
	i.Name, i.Hash = i.Name+"/"+name, hex.EncodeToString(sum[:])
	return &model{actor, reflections, i}, nil
}

func (m *model) Info() llm.Info { return m.info }

func (m *model) Close() error { return errors.Join(m.Model.Close(), m.other.Close()) }

func (m *model) Open(ctx context.Context, prompt string) (llm.Session, error) {
	s, err := m.Model.Open(ctx, prompt)
	if err != nil {
		return nil, err
	}
	return &session{s, m}, nil
}

type session struct {
	llm.Session
	m *model
}

// opened is how a text ends that asks for a reflection.
const opened = "\n" + llm.TagReflection

func (s *session) Sample(ctx context.Context, r llm.Request) (out []llm.Completion, u llm.Usage, err error) {
	if r.Until != llm.UntilLine || !strings.HasSuffix(s.Text(), opened) {
		return s.Session.Sample(ctx, r)
	}
	o, err := s.m.other.Open(ctx, s.Text())
	if err != nil {
		return nil, u, fmt.Errorf("reflector: %w", err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return o.Sample(ctx, r)
}

func (s *session) Fork(ctx context.Context) (llm.Session, error) {
	f, err := s.Session.Fork(ctx)
	if err != nil {
		return nil, err
	}
	return &session{f, s.m}, nil
}

// AppendStates implements llm.StateReader where the actor does.
func (s *session) AppendStates(ctx context.Context, text string) (llm.States, llm.Usage, error) {
	r, ok := s.Session.(llm.StateReader)
	if !ok {
		return llm.States{}, llm.Usage{}, fmt.Errorf("reflector: %s shows no hidden states", s.m.Info().Name)
	}
	return r.AppendStates(ctx, text)
}
