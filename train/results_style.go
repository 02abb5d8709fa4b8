package train

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/reflexion"
)

// styleOf names what an agent does beyond the paper's loop: "second thoughts",
// "failures forgotten"; "" where it does nothing else.
func styleOf(s PartSpec) string {
	c := s.Agent.Config
	if two := reflexion.SecondThoughts(c); two == c {
		return "second thoughts"
	}
	var out []string
	if c.Foresee {
		out = append(out, "failures foreseen")
	}
	if c.Rethink > 0 {
		out = append(out, fmt.Sprintf("%d rethinks below %g", c.Rethink, c.Doubt))
	}
	switch c.Forget {
	case reflexion.ForgetAlways:
		out = append(out, "failures forgotten")
	case reflexion.ForgetDoubt:
		out = append(out, "failures forgotten in doubt")
	}
	return strings.Join(out, ", ")
}

// adaptStyle names how an adaptation differs from the default: own reflections are
// handed on, M_sa's head is updated.
func adaptStyle(c *AdaptConfig) string {
	if c == nil {
		return ""
	}
	var out []string
	switch {
	case c.Notes:
		out = append(out, "notes")
	case !c.Reflect:
		out = append(out, "no reflections")
	}
	if c.Rooms {
		out = append(out, "rooms remembered")
	}
	if !c.Update {
		out = append(out, "M_sa not updated")
	}
	return strings.Join(out, ", ")
}

// styleFlags are the flags of styleOf.
func styleFlags(c reflexion.Config) (args []string) {
	if c.Forget == reflexion.ForgetAlways {
		args = append(args, "--forget", string(c.Forget))
	}
	if c.Name != "muse" {
		return args
	}
	if two := reflexion.SecondThoughts(c); two == c {
		return []string{"--second-thoughts"}
	}
	if c.Foresee {
		args = append(args, "--foresee")
	}
	if c.Rethink > 0 {
		args = append(args, "--rethink", fmt.Sprint(c.Rethink), "--doubt", fmt.Sprint(c.Doubt))
	}
	if c.Forget == reflexion.ForgetDoubt {
		args = append(args, "--forget", string(c.Forget))
	}
	return args
}

// adaptFlags are the flags of an adaptation.
func adaptFlags(c *AdaptConfig) (args []string) {
	if c == nil {
		return []string{"--by", "plain"} // as all were before it was recorded
	}
	if c.By != "" && c.By != "self" {
		args = append(args, "--by", c.By)
	}
	if d := DefaultAdapt(); c.Episodes != d.Episodes {
		args = append(args, "--episodes", fmt.Sprint(c.Episodes))
	}
	if c.Notes {
		args = append(args, "--notes")
	} else if !c.Reflect {
		args = append(args, "--reflect=false")
	}
	if c.Rooms {
		args = append(args, "--rooms")
	}
	if !c.Update {
		args = append(args, "--update=false")
	}
	return args
}
