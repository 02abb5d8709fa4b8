package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/selfassess"
)

// actorOf is the model whose hidden states the training rows carry: those of episodes
// that [ReadStates] has read, and of imagined futures that were kept with them. Rows
// of several models are an error, as one predictor can't read both. Futures of files
// that name no player (older packs) count as the episodes' player's.
func actorOf(es []*Episode, gs []*SiblingGame) (selfassess.Actor, error) {
	var actor selfassess.Actor
	from := ""
	add := func(m llm.Info, where string) error {
		switch {
		case m.Hash == "" || m.Hash == actor.Hash:
		case actor.Hash == "":
			actor, from = selfassess.Actor{Name: m.Name, Hash: m.Hash}, where
		default:
			return fmt.Errorf("train: hidden states of two models: %s is of %s (%.12s), %s of %s (%.12s); train on the runs of one",
				from, actor.Name, actor.Hash, where, m.Name, m.Hash)
		}
		return nil
	}
	for _, e := range es {
		if e.states != nil {
			if err := add(e.Agent.Model, "episode "+e.ID); err != nil {
				return actor, err
			}
		}
	}
	for _, g := range gs {
		if m := g.player(); m != nil && g.hidden() {
			if err := add(*m, "visit "+g.Unit); err != nil {
				return actor, err
			}
		}
	}
	if actor.Hash == "" && len(es) > 0 {
		return selfassess.Actor{Name: es[0].Agent.Model.Name, Hash: es[0].Agent.Model.Hash}, nil
	}
	return actor, nil
}

// player is the model that imagined the futures, nil where the file doesn't say.
func (g *SiblingGame) player() *llm.Info {
	if g.Model != nil {
		return g.Model
	}
	return g.by
}

// hidden reports whether any future of the visit carries hidden states.
func (g *SiblingGame) hidden() bool {
	for _, s := range g.States {
		for _, c := range s.Candidates {
			if c.Hidden != "" {
				return true
			}
		}
	}
	return false
}

// siblingPlayer is the model that run.json of a siblings run names, for the folder or its
// siblings.jsonl; nil where there is none.
func siblingPlayer(path string) (*llm.Info, error) {
	file := inFolder(path, FileSiblings)
	if filepath.Base(file) != FileSiblings {
		return nil, nil // a packed file says it itself
	}
	name := filepath.Join(filepath.Dir(file), FileRun)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var m struct {
		Config struct {
			Agent struct {
				Model llm.Info `json:"model"`
			} `json:"agent"`
		} `json:"config"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("train: %s: %w", name, err)
	}
	if m.Config.Agent.Model.Hash == "" {
		return nil, nil
	}
	return &m.Config.Agent.Model, nil
}
