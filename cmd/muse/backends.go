package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muse-agent/muse/internal/embed"
	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/internal/llm/record"
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

// openServed connects to an OpenAI-compatible server; nothing is sent yet. With --replay
// none is needed: the recording names its address.
func (f *agentFlags) openServed(a *app, name string) (llm.Model, error) {
	if f.record != "" && f.replay != "" {
		return nil, usagef("--record and --replay exclude each other")
	}
	o := openai.Options{BaseURL: f.url, Model: name, Warn: func(s string) { a.say("%s: %s", name, s) }}
	var tape *record.Player
	var rec *record.Recorder
	var err error
	switch {
	case f.replay != "":
		if tape, err = record.Open(f.replay); err != nil {
			return nil, err
		}
		o.Transport = tape
		o.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() } // nobody to wait for
		if o.BaseURL == "" {
			o.BaseURL = baseOf(tape.URL())
		}
	case f.record != "":
		if rec, err = record.Create(f.record, http.DefaultTransport.(*http.Transport).Clone()); err != nil {
			return nil, err
		}
		o.Transport = rec
	}
	switch f.endpoint {
	case endpointChat, "":
	case endpointCompletions:
		o.Mode = openai.Completion
	default:
		return nil, usagef("--endpoint is %q; use %s or %s", f.endpoint, endpointChat, endpointCompletions)
	}
	if o.BaseURL == "" {
		return nil, usagef("--model openai:%s needs --url (or MUSE_LLM_URL), the server's base address, e.g. http://127.0.0.1:8080/v1", name)
	}
	o.KeyEnv = a.keyEnv()
	m, err := openai.New(o)
	if err != nil {
		return nil, usageError{err}
	}
	return &taped{m, a, rec, tape}, nil
}

// baseOf is the base address in the address of a request.
func baseOf(url string) string {
	return strings.TrimSuffix(strings.TrimSuffix(url, "/completions"), "/chat")
}

// taped is a served model with its recording, if there is one.
type taped struct {
	*openai.Model
	a    *app
	rec  *record.Recorder
	tape *record.Player
}

// Close says what of a recording was not asked for: settings may differ from those of
// the recorded run, or it went on longer.
func (t *taped) Close() error {
	err := t.Model.Close()
	if t.rec != nil {
		err = errors.Join(err, t.rec.Close())
	}
	if t.tape != nil && t.tape.Left() > 0 {
		t.a.say("%d recorded answers were not asked for", t.tape.Left())
	}
	return err
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
