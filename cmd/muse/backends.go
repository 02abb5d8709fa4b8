package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/muse-agent/muse/internal/embed"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/openai"
)

// openEmbedder opens MiniLM. MUSE_EMBED_CACHE names the file in which vectors
// outlive the process ("" = none); the default lies in the user's cache folder.
func (a *app) openEmbedder() (*embed.Model, error) {
	o := embed.Options{CacheEntries: 60000}
	if v, ok := a.getenv("MUSE_EMBED_CACHE"); ok {
		o.DiskCache = v
	} else if dir, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(dir, "muse")
		if os.MkdirAll(dir, 0o755) == nil {
			o.DiskCache = filepath.Join(dir, "minilm.cache")
		}
	}
	return embed.Open(o)
}

// openServed connects to an OpenAI-compatible server; nothing is sent yet.
func openServed(_ context.Context, a *app, name, url string) (llm.Model, error) {
	if url == "" {
		return nil, usagef("--model openai:%s needs --url, the server's base address, e.g. http://127.0.0.1:8080/v1", name)
	}
	o := openai.Options{BaseURL: url, Model: name, Warn: func(s string) { a.say("%s: %s", name, s) }}
	if _, ok := a.getenv(openai.DefaultKeyEnv); !ok {
		if _, ok := a.getenv("OPENAI_API_KEY"); ok {
			o.KeyEnv = "OPENAI_API_KEY"
		}
	}
	m, err := openai.New(o)
	if err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

// lazyEmbedder is the embedder of a command, opened when something needs it.
type lazyEmbedder struct {
	a *app
	m *embed.Model
}

func (l *lazyEmbedder) open() (*embed.Model, error) {
	if l.m != nil {
		return l.m, nil
	}
	m, err := l.a.openEmbedder()
	if err == nil {
		l.m = m
	}
	return m, err
}

// Close says how much the cache saved, and closes the embedder if it was opened.
func (l *lazyEmbedder) Close() error {
	if l.m == nil {
		return nil
	}
	if s := l.m.Stats(); s.Requests > 0 {
		l.a.say("texts embedded: %d of %d (%d from memory, %d from disk), %.0f s", s.Computed, s.Requests, s.Hits, s.DiskHits, s.ComputeMS/1000)
		if s.DiskErrors > 0 {
			l.a.say("the cache of sentence vectors failed %d times (results are right, but slower than need be): is the disk full, or the file damaged? MUSE_EMBED_CACHE names another", s.DiskErrors)
		}
	}
	return l.m.Close()
}
