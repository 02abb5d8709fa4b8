// Package worldmodel learns how an environment behaves and acts in what it has
// learned: the world-model half of the paper (section 3).
//
// A [Model] is a recurrent state-space model of the DreamerV3 family (second
// generation: block GRU, RMS norms, categorical latents, one optimiser) with one
// more head: N sigmoid outputs ψ_i(h,z), the probability that the episode succeeds
// within the i-th N-th of its time limit (paper, Eq. 2 and section 3.1.1). An actor
// and a critic are trained on rollouts that the model imagines.
//
// The package knows no environment. A caller appends [Step] values to a [Replay],
// gives finished episodes their labels, and calls [Trainer.Update]; it acts with a
// [Sim], which also carries the small methods that regulation by gradient needs
// (paper, Algorithm 1; package selfregulate).
//
// # Graphs and kernels
//
// Everything that needs gradients is a Gorgonia graph; acting and imagination are
// plain Go over the same weights and allocate nothing. The graph's nodes are this
// package's own operations: one a layer, one for each loss, and one for the whole
// recurrence over time. Built from Gorgonia's primitives a sequence of 64 steps has
// thousands of nodes, compiles in seconds and runs through several of Gorgonia's
// silent faults (inverse square root, softmax, slices before reshapes); with own
// operations the graph has about a hundred nodes, whatever the length, and weight
// gradients are one matrix product over all time steps. Each operation is tested
// against the same formula in Gorgonia's primitives and against finite differences.
//
// Matrix products use gonum's BLAS, or OpenBLAS with the build tag "openblas".
package worldmodel
