// Package embedded runs the tiny language model that ships with this program:
// a decoder of under a million parameters which plays household games and
// imagines how they go on (docs/embedded-lm.md).
//
//	m, err := embedded.Open("base", embedded.Options{})
//	s, err := m.Open(ctx, llm.RenderTask(goal, room))
//	c, _, err := s.Sample(ctx, llm.Request{N: 5, Temperature: .5, Until: llm.UntilPairs, Pairs: 4, Seed: 1})
//
// A session keeps the keys and values of its prefix. Sample feeds all
// continuations in lockstep over that one shared prefix, each with a short
// suffix of its own; a row that has ended leaves the batch.
//
// # What is written
//
// The graph has no grammar; the rules below are masks on the next token:
//
//   - padding, start and unknown tokens are never drawn;
//   - a line has at least one token after its tag;
//   - after a finished line of the prefix, and after an observation, a thought,
//     an action or (unless ForbidEnd) an end claim begins; after a thought a
//     thought or an action; after an imagined action its observation;
//   - where the prefix ends in an action, UntilPairs begins with its observation
//     and counts it as the first pair; an open tag at the end of the prefix
//     ("…\nplan:") is continued.
//
// LogProb and Nothing are of the model's distribution at temperature 1 under
// these masks.
//
// # Reproducibility
//
// Continuation i depends on the session's history of Append calls, on Seed, i
// and the request alone: not on N, on other continuations or on other sessions.
// The arithmetic of a row does not depend on the number of rows: tested, bit for
// bit, hidden states included. Appending a text in two pieces
// rounds differently from appending it at once (about 1e-6 in a logit), which
// may, rarely, draw another token.
//
// Needs the build tag "native"; without it Open gives an error that matches
// llm.ErrUnavailable. Shipped and List work in every build.
package embedded

// Options of Open. The zero value is the default.
type Options struct {
	// Threads inside one operator, 0 is read as 1. With other than 1 the last bits
	// of the arithmetic may differ between machines.
	Threads int
	// Adapter is the file of a low-rank adapter (internal/lora) that is put into the
	// network, "" = none. The model then has a name and a hash of its own. An adapter
	// of another model is an error that matches lora.ErrModel.
	Adapter string
}
