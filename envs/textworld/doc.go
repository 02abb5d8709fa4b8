// Package textworld plays ALFWorld's original text games with exactly their texts.
//
// A [Game] is one household task, from the embedded set ([Open], [Select]) or from
// a file ([LoadFile]). [New] plays it under the rules of package envs, with a step
// limit and rewards; [World] is the bare engine, for search and for training.
//
// The rules are those of the engine of alfworld 0.4.2 with TextWorld 1.7.0, in the
// wording of either data release ([Dialect]). They are checked byte for byte
// against transcripts of that engine ([CheckGolden]), command lists and end of
// episode included. See docs/envs/textworld.md.
//
// Names: a receptacle is what can hold objects and be gone to, an object is all
// else. Several receptacles can share one location. Everything is deterministic;
// nothing reads a clock or a random source.
package textworld
