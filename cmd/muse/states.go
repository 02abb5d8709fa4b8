package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/train"
)

// playerOf opens the model that played the episodes: the one named by --model, else
// the one that the records name.
func (a *app) playerOf(ctx context.Context, f *agentFlags, es []*train.Episode) (llm.Model, error) {
	g := *f
	if g.model == "" {
		if len(es) == 0 {
			return nil, usagef("no episodes, so nobody to read them: --model names the model that played")
		}
		g.model = es[0].Agent.Model.Name
	}
	m, err := g.openModel(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("the model that played the episodes: %w", err)
	}
	return m, nil
}

// readStates reads the hidden states of real episodes where the input needs them.
func (a *app) readStates(ctx context.Context, in selfassess.InputKind, m llm.Model, es []*train.Episode, workers int) error {
	if !in.Uses("hidden") {
		return nil
	}
	w, tty := a.progressWriter()
	p := train.NewProgress(w, tty, "reading episodes", 0, len(es))
	defer p.Close()
	return train.ReadStates(ctx, m, es, workers, p)
}

// showsStates reports whether the episodes' player is an embedded model, named by
// --model or by the records; the others show no hidden states.
func showsStates(model string, es []*train.Episode) bool {
	if model != "" {
		return model != "toy" && !strings.HasPrefix(model, "openai:")
	}
	return len(es) > 0 && strings.HasPrefix(es[0].Agent.Model.Name, "embedded/")
}
