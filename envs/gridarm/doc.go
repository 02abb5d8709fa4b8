// Package gridarm is a fast tabletop arm with the tasks of Meta-World.
//
// It is kinematic, not physical: a point hand with two fingers moves over a table,
// and a short list of contact rules says what happens to pucks, pegs, drawers and
// buttons (contact.go, joint.go, and docs/envs/gridarm.md one by one). What users of
// Meta-World know stays: the names of the tasks, the four numbers of an action, the
// layout of the 39 numbers of an observation, success predicates and rewards from 0
// to 10 of the same form. One decision moves the hand as far as five of the
// original's steps.
//
// [Env] plays a task under the rules of package envs. [World] is the bare engine for
// training: Reset, Step and Observe of it allocate nothing (but a random stream at
// Reset), and a [State] is a plain value, so that saving one is an assignment.
// [Scripted] gives a policy that solves a task, [Corruption] makes it fail by degrees.
//
// Everything is deterministic by (seed, task, episode); positions are kept on a
// lattice of 2⁻²⁴ m, so that processors with fused multiply-add give the same bytes.
package gridarm
