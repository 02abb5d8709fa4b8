// Package reflexion holds the text agents: ReAct, Reflexion and MUSE. They share
// one code path; what differs is memory (Reflexion, MUSE) and the selector (MUSE).
//
// One step is the paper's loop (section 4.1, Algorithm 4, lines 9–12): the model
// imagines K futures of H action-observation pairs from the transcript, the success
// predictor M_sa gives each a probability, a selector names one, and its first
// command is sent. What was imagined after that command is thrown away: the
// transcript, which is all the memory an episode has, holds the environment's own
// answers only.
//
// The texts are those of internal/llm, for every model: task, room, reflections
// (the newest three, oldest first), the plan P^e, then thoughts, commands and
// observations. What is particular to a kind of model is a [Template]: prompt and
// parser. [SeenMemory] is an optional part of the world model (Config.Recall).
//
// Agents see texts only; nothing privileged (success, expert plans) can reach them,
// since no function of this package takes it. The state of an episode is an
// explicit [Carry], so that episodes can be forked, stored and resumed.
package reflexion
