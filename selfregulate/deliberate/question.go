package deliberate

import (
	"fmt"
	"strings"
)

const defaultChars = 6000

// tail cuts a long text at the front.
func tail(s string, chars int) string {
	if chars <= 0 {
		chars = defaultChars
	}
	r := []rune(s)
	if len(r) <= chars {
		return s
	}
	return "[…] " + string(r[len(r)-chars:])
}

// Question is the yes/no question about a candidate, for judges that are language
// models. "Yes" always speaks for the candidate. chars bounds the candidate's text
// (0 = 6000); it is cut at the front.
func Question(problem string, c Candidate, chars int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Problem:\n%s\n\n", problem)
	show := func(what string) { fmt.Fprintf(&b, "%s:\n%s\n\n", what, tail(c.Text, chars)) }
	switch c.Kind {
	case KindAnswer:
		fmt.Fprintf(&b, "%s\n\nIs this final answer correct?", tail(c.Text, chars))
	case KindPartial:
		show("Beginning of a solution, not finished yet")
		b.WriteString("Is it on the way to the correct answer?")
	case KindSketch:
		show("Outline of a solution")
		b.WriteString("Does it lead to the correct answer?")
	case KindProblem:
		b.WriteString("Would a capable solver's first quick attempt at this problem be correct?")
	case KindComplete:
		show("Solution")
		b.WriteString("Does the solution answer everything that was asked?")
	default:
		show("Solution")
		b.WriteString("Is the solution correct?")
	}
	b.WriteString(" Answer with one word, Yes or No.")
	return b.String()
}

// choiceQuestion asks which of several solutions is right.
func choiceQuestion(problem string, c []Candidate, chars int) string {
	if chars <= 0 {
		chars = defaultChars
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Problem:\n%s\n\n", problem)
	for i, x := range c {
		fmt.Fprintf(&b, "Solution %c:\n%s\n\n", 'A'+i, tail(x.Text, max(200, 2*chars/len(c))))
	}
	b.WriteString("Which solution is most likely correct? Answer with its letter only.")
	return b.String()
}
