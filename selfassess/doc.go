// Package selfassess predicts whether an episode will succeed: the component
// M_sa of the paper (section 4.1.3, Eq. 6 and 7, Algorithms 2 to 4).
//
// An [Assessor] sees one future ([Input]: goal, plan, imagined or real pairs)
// and answers with a probability of success. The package's own assessor is
// [Model]: sentence embeddings of goal and trajectory, counting features of the
// history, or hidden states of the generator (an [InputKind]) go through a small
// multilayer perceptron whose training graph is built in Gorgonia, followed by a
// monotone [Calibration]. [Train] fits it with folds by task, [Adapt] is the
// deployment update (Alg. 4), [SelectDefault] chooses among named settings by
// sibling lift, and [Evaluate] measures any list of [Prediction] with intervals
// by bootstrap over tasks.
//
// Two kinds of labels exist. With [LabelsOutcome] every four-pair chunk gets the
// episode's outcome (the paper). With [LabelsSibling] the rows also hold
// counterfactual outcomes of different first actions at one state, which is what
// teaches choosing between candidates instead of telling states apart.
package selfassess
