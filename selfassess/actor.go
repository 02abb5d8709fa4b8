package selfassess

import (
	"errors"
	"fmt"
)

// ErrActor: the model reads the hidden states of another actor than the one at hand.
var ErrActor = errors.New("selfassess: wrong actor")

// Actor names the language model whose hidden states a success predictor reads: the
// numbers mean nothing to a predictor that was trained on another model's.
type Actor struct {
	Name string `json:"name"` // "embedded/base"
	Hash string `json:"hash"` // of its weights
}

// Tie returns m for the hidden states of actor a only; weights, hash and name stay.
// A model whose input has no hidden states judges text of any actor and is returned
// as it is. Adapting keeps the tie, and so do Save and Load.
func (m *Model) Tie(a Actor) *Model {
	if m.lay.hidden == 0 || m.actor == a {
		return m
	}
	n := *m
	n.actor = a
	return &n
}

// Actor is whose hidden states the model reads; the zero Actor where it reads none,
// or where its checkpoint is older than this note.
func (m *Model) Actor() Actor { return m.actor }

// CheckActor refuses the hidden states of another actor; the error matches [ErrActor],
// names both and says what to do. Actors are told apart by the hash of their weights.
func (m *Model) CheckActor(a Actor) error {
	if m.actor.Hash == "" || m.actor.Hash == a.Hash {
		return nil
	}
	return fmt.Errorf("%w: %s reads the hidden states of %s (%s), here is %s (%s); use that actor, or train a self-assessment on the runs of this one (\"muse train selfassess\"), or one with input %q, which reads text only",
		ErrActor, m.Name(), m.actor.Name, short(m.actor.Hash), a.Name, short(a.Hash), InputHistoryEmbedding)
}
