// Package rng gives named random streams that all come from one root seed.
//
// A stream is identified by the root seed and a path such as ("episode", 17,
// "candidate", 2). Adding a new stream anywhere shifts no other stream, so a
// program stays reproducible while it grows.
package rng

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// New returns the stream named by path under seed. Path elements are formatted
// with %v; integers and strings are the intended kinds. The returned source is
// not safe for concurrent use: give each goroutine a stream of its own.
func New(seed uint64, path ...any) *rand.Rand {
	a := Seed(seed, path...)
	return rand.New(rand.NewPCG(a, a^0x9e3779b97f4a7c15))
}

// Seed derives a child seed, for handing a whole family of streams to a callee.
func Seed(seed uint64, path ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d", seed)
	for _, p := range path {
		fmt.Fprintf(h, "\x00%v", p)
	}
	return mix(h.Sum64())
}

// mix is the finaliser of SplitMix64: it spreads FNV's weak low bits.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
