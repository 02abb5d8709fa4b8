package viewer

import (
	"fmt"
	"strings"
)

// Explain says in a few lines what the record itself tells about how an episode went, the
// most telling first: facts that are counted in it, not opinions.
func Explain(e *Episode) []string {
	if e.IsArm() {
		return explainArm(e)
	}
	var out []string
	n := len(e.Steps)
	switch {
	case e.Success:
		out = append(out, fmt.Sprintf("Solved after %s.", plural(n, "command")))
	case e.Reason != "":
		out = append(out, fmt.Sprintf("Failed: %s after %s.", e.Reason, plural(n, "command")))
	default:
		out = append(out, fmt.Sprintf("Failed after %s.", plural(n, "command")))
	}
	if n == 0 {
		return out
	}
	if !e.Success {
		out = append(out, missing(e)...)
		out = append(out, misled(e)...)
	}
	nothing, loop, loopAt := 0, 0, 0
	var loopCmd string
	for i := range e.Steps {
		if e.Steps[i].Nothing() {
			nothing++
		}
		if k := repeats(e, i); k > loop {
			loop, loopAt, loopCmd = k, i, e.Steps[i].Action.String()
		}
	}
	if loop >= 3 {
		out = append(out, fmt.Sprintf("From command %d on “%s” was given %d times in a row.", loopAt+1, loopCmd, loop))
	}
	if nothing > 0 && (!e.Success || nothing*4 >= n) {
		out = append(out, fmt.Sprintf("%d of %s had no effect.", nothing, plural(n, "command")))
	}
	return append(out, confidence(e)...)
}

// repeats counts how often the command at i follows itself.
func repeats(e *Episode, i int) int {
	a := e.Steps[i].Action.String()
	k := 1
	for i+k < len(e.Steps) && e.Steps[i+k].Action.String() == a {
		k++
	}
	return k
}

// missing says which objects of the goal were never seen, or seen but never taken.
func missing(e *Episode) []string {
	r := NewRoom(e.Room)
	seen, taken := map[string]bool{}, map[string]bool{}
	place := map[string]bool{}
	for i := range r.Places {
		place[kindOf(r.Places[i].Name)] = true
	}
	for i := range e.Steps {
		r.Add(e.Steps[i].Action.Text, e.Steps[i].Observation.Text)
		for x := range r.New {
			if inGoal(e.Goal, x) {
				seen[kindOf(x)] = true
			}
		}
		if r.Held != "" {
			taken[kindOf(r.Held)] = true
			seen[kindOf(r.Held)] = true
		}
	}
	// The first thing the goal names that is no receptacle is what has to be taken.
	for w := range strings.FieldsSeq(strings.ToLower(e.Goal)) {
		w = strings.Trim(w, ".,")
		if goalWords[w] || place[w] || w == "" {
			continue
		}
		switch {
		case !seen[w] && !taken[w]:
			return []string{fmt.Sprintf("%s was never seen.", article(w))}
		case !taken[w]:
			return []string{fmt.Sprintf("%s was seen, but never taken.", article(w))}
		}
		return []string{fmt.Sprintf("%s was taken, but what the goal asks was not done.", article(w))}
	}
	return nil
}

// misled names a place where a reflection that the agent was given puts a thing, and where
// the agent looked and did not find it.
func misled(e *Episode) []string {
	type claim struct{ thing, place string }
	var claims []claim
	for _, text := range e.Reflections {
		for before, rest, ok := strings.Cut(text, " was in "); ok; before, rest, ok = strings.Cut(rest, " was in ") {
			was, is := strings.Fields(before), strings.Fields(rest)
			if len(was) == 0 || len(is) < 2 {
				continue
			}
			claims = append(claims, claim{was[len(was)-1], is[0] + " " + strings.Trim(is[1], ".,;")})
		}
	}
	if len(claims) == 0 {
		return nil
	}
	found, looked := map[claim]bool{}, map[string]bool{}
	r := NewRoom(e.Room)
	for i := range e.Steps {
		r.Add(e.Steps[i].Action.Text, e.Steps[i].Observation.Text)
		for k := range r.Places {
			if p := &r.Places[k]; p.Seen {
				looked[p.Name] = true
				for _, x := range p.Items {
					found[claim{kindOf(x), p.Name}] = true
				}
			}
		}
	}
	for k := len(claims) - 1; k >= 0; k-- { // the newest first
		if c := claims[k]; looked[c.place] && !found[c] {
			return []string{fmt.Sprintf("Its memory says that %s was in %s: it was not there.", c.thing, c.place)}
		}
	}
	return nil
}

// article puts "A" or "An" before a word.
func article(w string) string {
	if strings.ContainsRune("aeiou", rune(w[0])) {
		return "An " + w
	}
	return "A " + w
}

// goalWords are the words of the game's goal sentences that name no thing.
var goalWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("put a an some the clean cool hot heat look at examine under in on and it to two with them find place") {
		m[w] = true
	}
	return m
}()

// confidence says how P moved.
func confidence(e *Episode) []string {
	first, last, high, highAt, n := 0.0, 0.0, -1.0, 0, 0
	for i := range e.Steps {
		if p, ok := e.Steps[i].P(); ok {
			if n == 0 {
				first = p
			}
			last = p
			n++
			if p > high {
				high, highAt = p, i
			}
		}
	}
	if n == 0 {
		return nil
	}
	out := []string{fmt.Sprintf("P began at %.2f, was highest (%.2f) at %s %d, ended at %.2f.", first, high, e.unit(), highAt+1, last)}
	switch {
	case e.open():
	case !e.Success && last >= .5:
		out = append(out, "It failed while confident.")
	case e.Success && last < .5:
		out = append(out, "It was solved while in doubt.")
	}
	return out
}

// Lowest is the command with the lowest P of the chosen future, -1 if there is none.
func Lowest(e *Episode) int {
	at, low := -1, 2.0
	for i := range e.Steps {
		if p, ok := e.Steps[i].P(); ok && p < low {
			at, low = i, p
		}
	}
	return at
}

// Surprise is how much P changes at a command that makes it one of interest.
const Surprise = .25

// NextSurprise is the first command after at where P jumps by [Surprise], or where the
// answer is not what the chosen future imagined for it; -1 if there is none.
func NextSurprise(e *Episode, at int) int {
	for i := at + 1; i < len(e.Steps); i++ {
		p, ok := e.Steps[i].P()
		if i > 0 && ok {
			if q, ok := e.Steps[i-1].P(); ok && max(p-q, q-p) >= Surprise {
				return i
			}
		}
		if c := e.Steps[i].Chosen(); c != nil && len(c.Pairs) > 0 && len(e.Steps[i].Trace.Candidates) > 1 && e.Steps[i].Nothing() && c.Pairs[0].Observation != "Nothing happens." && comesTrue(e, i, c, 0) == "differs" {
			return i
		}
	}
	return -1
}

// Widest is the command whose futures differ most in P, the first of them; 0 if none has any.
func Widest(e *Episode) int {
	at, best := 0, -1.0
	for i := range e.Steps {
		if low, high, ok := e.Steps[i].Spread(); ok && high-low > best {
			at, best = i, high-low
		}
	}
	return at
}
