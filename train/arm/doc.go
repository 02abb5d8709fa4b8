// Package arm trains, adapts and judges the world-model agent on the tabletop arm
// (paper, section 3): what package train is for text games.
//
// [Train] learns several tasks together: it plays an episode of each, stores the steps
// with their labels, updates model, actor and critic, and repeats. [Adapt] goes on from
// such a checkpoint on one new task with the replay of the old ones. [Eval] plays with
// the regulators of package selfregulate side by side. All write run folders of package
// train: the same command continues after an interrupt and gives the same bytes.
//
// Success is read from the environment for labels and figures only; the agent sees
// observations and rewards.
package arm
