// Package deliberate spends inference where a judge is in doubt: a thinker writes
// a path, a judge that is another model says how likely it is to be right, and
// further paths are written in the measure of the doubt. It needs no training and
// no access to weights. Source: MetaCog (design, section 1).
//
//	res, err := deliberate.Run(ctx, thinker, judge, deliberate.Problem{Text: "…"}, deliberate.Default())
//	fmt.Println(res.Answer, res.Confidence)
//
// [Adaptive] writes one greedy path and branches when the judge is not sure of it;
// [BestOfN] writes all paths at once; [Stepwise] chooses among short continuations,
// again and again; [Race] streams all paths and lets the first convincing one win.
// Every path, score and decision is in the [Result].
//
// The judge must not be the thinker: grading oneself measured worse than no judge.
package deliberate
