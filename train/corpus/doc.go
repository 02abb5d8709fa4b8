// Package corpus writes the text that muse's embedded language model learns from:
// household episodes by scripted players of mixed competence.
//
// A lucid player searches like a person who knows kitchens but not this kitchen:
// it knows only what the game displayed, plus counts of where things lay in the
// training games. Lucid it wins practically every game in about eight commands.
// Players of other competence levels get confused now and then — they repeat
// themselves, take things that are not there, skip the cleaning, walk to places
// that do not exist — and recover slowly, so a part of the episodes is lost.
// Failures are in the text because a model that has only read wins imagines only
// wins, and nothing can be chosen among futures that all end well.
//
// Three parts:
//
//   - players: [Goal], [Prior], the searcher and its confusions ([Mode], [Mixture]);
//   - the teacher of reflections: [Reflect], from a trace alone;
//   - the writer: [Write] streams JSON lines ([Episode]), [Main] is the command.
//
// The texts follow the line format of internal/llm. The method's section on the
// language agent (plans, reflections, imagined futures) decides what is written;
// the frequencies of the players' mistakes are fitted to those of real agents
// (see [RealFailures]).
package corpus
