// Package logs judges episodes that muse never ran: from a file of logged steps and
// outcomes it learns the probability that an unfinished episode will succeed, and
// says how far that probability can be trusted on tasks and agents it never saw.
//
// The input is JSONL, one episode a line ([Episode]):
//
//	{"task": "put a mug in shelf.", "steps": [{"action": "…", "observation": "…"}], "success": true}
//
// A row is a prefix of an episode that still runs, labelled with the episode's
// outcome: the self-assessment of the paper (section 4.1.3, Eq. 6) for any agent. It
// is seen as counts of what was done, what failed and what of the goal was met
// ([FeatureNames]), and, with an embedder, as sentence embeddings of the goal and of
// the steps. Boosted trees read the counts and what is remembered of the task
// ([Memory]), the head of package selfassess reads counts and embeddings, a linear model
// reads words ([NGram]), and a logistic regression weighs them ([Stack]).
//
// [Train] leaves whole tasks out, then whole players, and compares with
// the n-gram model alone, fitted on the same rows.
// Figures that see the end of an episode are kept apart: the winning move is in there.
package logs
