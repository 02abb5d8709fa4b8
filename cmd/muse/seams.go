package main

import (
	"context"
	"errors"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
)

func (a *app) openEmbedder() (selfassess.Embedder, error) {
	return nil, errors.New("embedder: not wired yet")
}
func loadMSA(string, selfassess.Embedder) (*selfassess.Model, error) {
	return nil, errors.New("msa: not wired yet")
}
func openServed(context.Context, *app, string, string) (llm.Model, error) {
	return nil, errors.New("served models: not wired yet")
}
