// Package lora teaches the embedded language model by low-rank adapters (Hu et
// al., 2021; paper, 4.1: SFT of the actor, DPO of the reflection model).
//
// A weight W [in, out] of the network becomes W + (alpha/rank)·A·B with A
// [in, rank] and B [rank, out]; only A and B are learnt. [Net] is the network in
// plain Go, with gradients written by hand, read from the same ONNX file that
// plays. [Merge] puts an adapter into a copy of that file, so acting with one
// costs nothing: sampling, scoring and hidden states all see the adapted weights.
// [Unmerge] takes it out again and gives the base's bytes.
//
//	net, err := lora.ReadNet(graph, 32)
//	ad, err := lora.New(net, lora.Options{Rank: 8, Targets: lora.TargetsAll, Seed: 1})
//	loss, err := lora.CrossEntropy(net, ad, []lora.Sequence{{IDs: ids, Weights: w}}, grads, 1)
//	graph2, err := lora.Merge(graph, ad)
//
// The arithmetic is float32, sums of losses float64. Equal seeds give equal
// bytes: sequences may be worked on side by side, their gradients are added in order.
package lora
