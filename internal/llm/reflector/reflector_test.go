package reflector_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/reflector"
)

// voice is a model that always writes the same.
type voice struct{ name, says string }

func (v voice) Info() llm.Info { return llm.Info{Name: v.name, Hash: v.name} }
func (v voice) Close() error   { return nil }
func (v voice) Open(_ context.Context, prompt string) (llm.Session, error) {
	return &speech{v, prompt}, nil
}

type speech struct {
	v    voice
	text string
}

func (s *speech) Append(_ context.Context, t string) (llm.Usage, error) {
	s.text += t
	return llm.Usage{}, nil
}
func (s *speech) Sample(context.Context, llm.Request) ([]llm.Completion, llm.Usage, error) {
	return []llm.Completion{{Text: s.v.says + fmt.Sprint(strings.Count(s.text, "\n"))}}, llm.Usage{}, nil
}
func (s *speech) Fork(context.Context) (llm.Session, error) { c := *s; return &c, nil }
func (s *speech) Text() string                              { return s.text }
func (s *speech) Len() int                                  { return 0 }
func (s *speech) Close() error                              { return nil }

// Only the line after "reflection:" is the other model's, also on a fork, and it
// sees the whole text.
func TestWhoSpeaks(t *testing.T) {
	ctx := context.Background()
	m, err := reflector.New(voice{"embedded/base+sft", "actor "}, voice{"embedded/base+dpo", "other "})
	if err != nil {
		t.Fatal(err)
	}
	if i := m.Info(); i.Name != "embedded/base+sft/dpo" || len(i.Hash) != 64 {
		t.Errorf("info %+v", i)
	}
	s, err := m.Open(ctx, "task")
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Fork(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append(ctx, "\n[end: lost]\nreflection:"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s     llm.Session
		until llm.Until
		want  string
	}{{s, llm.UntilLine, "actor 0"}, {f, llm.UntilLine, "other 2"}, {f, llm.UntilAction, "actor 2"}} {
		out, _, err := c.s.Sample(ctx, llm.Request{N: 1, Until: c.until})
		if err != nil || out[0].Text != c.want {
			t.Errorf("%v %v, want %s", out, err, c.want)
		}
	}
	if _, err := reflector.New(nil, nil); err == nil {
		t.Error("no models, no error")
	}
}
