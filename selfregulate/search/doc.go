// Package search is regulation by tree search (paper, section 3.1.2, option 2):
// Monte-Carlo tree search over imagined futures, with the self-assessment M_sa in the
// place of a playout's value.
//
// A node is an imagined history. Expanding it draws futures from the world model; the
// first command of a future is an arm of the node, what the world model answers is an
// outcome of that arm and a node of its own (UCT with double progressive widening,
// Couëtoux et al. 2011; PUCT as in AlphaZero with the share of the draws as prior).
// Arms are sampled, never listed: commands are text.
//
//	t := search.New(cfg, world, root, seed)
//	err := t.Run(ctx)          // until the budget is used up
//	best := t.Best()           // any time, also after an error or a cancelled context
//
// The world is one small interface, [World]; NewSearch of package reflexion makes one of a
// language model and M_sa.
package search
