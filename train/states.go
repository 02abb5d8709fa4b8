package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate"
)

// ReadStates reads real episodes again with the model that played them, so that the
// rows of [Chunks] and [Windows] carry hidden states as imagined futures do. Every
// episode is read as its own agent saw it. Episodes of another model are an error,
// as its states mean something else. Nothing is sampled and no record changes. p
// may be nil.
func ReadStates(ctx context.Context, m llm.Model, es []*Episode, workers int, p *Progress) error {
	return Ordered(ctx, workers, 0, len(es), func(ctx context.Context, i int) ([]llm.States, error) {
		return readStates(ctx, m, es[i])
	}, func(i int, st []llm.States) error {
		es[i].states = st
		if p != nil {
			p.Add(1, "")
		}
		return nil
	})
}

func readStates(ctx context.Context, m llm.Model, e *Episode) (out []llm.States, err error) {
	if e.states != nil {
		return e.states, nil
	}
	info, by := m.Info(), e.Agent.Model
	switch {
	case info.Caps.HiddenSize == 0:
		return nil, fmt.Errorf("train: %w: %s; use a self-assessment without input \"hidden\"", reflexion.ErrStates, info.Name)
	case by.Hash != info.Hash:
		return nil, fmt.Errorf("train: episode %s was played by %s (%s), its hidden states can't be read with %s (%s); name the model that played with --model, train on the runs of one model, or use input \"history+embedding\"",
			e.ID, by.Name, by.Hash, info.Name, info.Hash)
	}
	agent, err := reflexion.New(e.Agent.Config, m, nil, selfregulate.Off)
	if err != nil {
		return nil, fmt.Errorf("train: episode %s: %w", e.ID, err)
	}
	reader, ok := agent.(reflexion.StateReader)
	if !ok {
		return nil, fmt.Errorf("train: %w", reflexion.ErrStates)
	}
	rd := reader.Read(reflexion.Task{Goal: e.Goal, Room: e.Room}, e.Reflections, e.Plan)
	defer func() { err = errors.Join(err, rd.Close()) }()
	pairs := e.Pairs()
	out = make([]llm.States, 0, len(pairs))
	for _, p := range pairs {
		st, err := rd.Next(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("episode %s: %w", e.ID, err)
		}
		out = append(out, st)
	}
	return out, nil
}

// readFor is ReadStates where an assessor needs it.
func readFor(ctx context.Context, in selfassess.InputKind, m llm.Model, es []*Episode, workers int) error {
	if !in.Uses("hidden") {
		return nil
	}
	if m == nil {
		return fmt.Errorf("train: input %q needs the model that played, to read the episodes' hidden states", in)
	}
	return ReadStates(ctx, m, es, workers, nil)
}
