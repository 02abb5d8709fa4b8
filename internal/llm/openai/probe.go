package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/llm"
)

// Abilities is what a server can do beyond the minimum, as found by a probe.
type Abilities struct {
	N        bool `json:"n"`        // several continuations a call
	Seed     bool `json:"seed"`     // the field is accepted (whether it is honoured can't be seen from one call)
	LogProbs bool `json:"logprobs"` // log probabilities come back
}

// Abilities returns what the server can do. The first call asks it, by requests
// of one token; the answer is kept. A failed probe is an error and isn't kept.
func (m *Model) Abilities(ctx context.Context) (Abilities, error) {
	m.probing.Lock()
	defer m.probing.Unlock()
	if m.can != nil {
		return *m.can, nil
	}
	a, err := m.probe(llm.OutsideUnits(ctx)) // whoever asks first
	if err != nil {
		return Abilities{}, err
	}
	m.can = &a
	var lacks []string
	for _, x := range []struct {
		ok   bool
		what string
	}{{a.N, "n (continuations are fetched one by one)"}, {a.Seed, "seed (runs can't be repeated)"}} {
		if !x.ok {
			lacks = append(lacks, x.what)
		}
	}
	if len(lacks) > 0 {
		m.warn("abilities", fmt.Sprintf("%s at %s doesn't support %s", m.o.Model, m.url, strings.Join(lacks, ", ")))
	}
	return a, nil
}

// single remembers that the server gives one continuation a call.
func (m *Model) single() {
	m.probing.Lock()
	defer m.probing.Unlock()
	if m.can != nil && m.can.N {
		a := *m.can // the caller's own may be shared
		a.N = false
		m.can = &a
	}
}

// probe starts with everything and takes back what is refused: servers answer an
// unsupported field by 400, or ignore it without a word.
func (m *Model) probe(ctx context.Context) (Abilities, error) {
	try := Abilities{N: true, Seed: true, LogProbs: true}
	for {
		c := &call{op: "probe", firstByte: m.o.Warmup, body: m.fields(llm.Request{MaxTokens: 1}, nil)}
		if try.N {
			c.body["n"] = 2
		}
		if try.Seed {
			c.body["seed"] = 1
		}
		if try.LogProbs {
			c.body["logprobs"] = 1
			if m.o.Mode == Chat {
				c.body["logprobs"], c.body["top_logprobs"] = true, 1
			}
		}
		_, err := m.withRetries(ctx, c, func(ctx context.Context) error { return m.send(ctx, "Say yes.", "Say yes.") })
		if err == nil {
			return Abilities{N: try.N && len(c.answer.Choices) >= 2, Seed: try.Seed, LogProbs: try.LogProbs && c.answer.logprobs}, nil
		}
		var e *llm.Error
		if !errors.As(err, &e) || e.Status != 400 && e.Status != 422 {
			return Abilities{}, err
		}
		switch said := strings.ToLower(e.Message); { // drop the field that is named, else one after the other
		case try.LogProbs && (strings.Contains(said, "logprob") || !strings.Contains(said, "seed") && !mentionsN(said)):
			try.LogProbs = false
		case try.N && (mentionsN(said) || !strings.Contains(said, "seed")):
			try.N = false
		case try.Seed:
			try.Seed = false
		case try.N:
			try.N = false
		case try.LogProbs:
			try.LogProbs = false
		default:
			return Abilities{}, err
		}
	}
}

// mentionsN recognises complaints about the number of choices.
func mentionsN(s string) bool {
	for _, w := range []string{"'n'", `"n"`, "`n`", "choice", " n ", "n:", "n must"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
