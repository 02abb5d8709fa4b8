package train

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfregulate/search"
)

// styleOf names what an agent does beyond the paper's loop: "second thoughts",
// "failures forgotten"; "" where it does nothing else.
func styleOf(s PartSpec) string {
	c := s.Agent.Config
	var out []string
	if c.Search != (search.Config{}) {
		out = append(out, fmt.Sprintf("tree of %d tokens", c.Search.Tokens))
	}
	if d, _ := reflexion.Default("muse"); c.Name == d.Name && (c.Horizon != d.Horizon || c.Rollouts != d.Rollouts && len(out) == 0) {
		if len(out) == 0 {
			out = append(out, fmt.Sprintf("%d futures", c.Rollouts))
		}
		out = append(out, fmt.Sprintf("%d pairs each", c.Horizon))
	}
	if two := reflexion.SecondThoughts(c); two == c {
		return strings.Join(append(out, "second thoughts"), ", ")
	}
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

// sameThoughts tells whether two agents agree in what they do beyond the paper's loop,
// a tree aside.
func sameThoughts(a, b reflexion.Config) bool {
	return a.Rethink == b.Rethink && a.Doubt == b.Doubt && a.Forget == b.Forget && a.Foresee == b.Foresee
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
	if c.Search != (search.Config{}) {
		args = append(args, searchFlags(c.Search)...)
	} else if d, _ := reflexion.Default(c.Name); c.Rollouts != d.Rollouts {
		args = append(args, "--rollouts", fmt.Sprint(c.Rollouts))
	}
	if two := reflexion.SecondThoughts(c); two == c {
		return append(args, "--second-thoughts")
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

// searchFlags are the flags of a tree search's settings, less those that are default.
func searchFlags(c search.Config) (args []string) {
	d := search.Default()
	for _, f := range []struct {
		name    string
		is, def any
	}{
		{"rule", c.Rule, d.Rule}, {"backup", c.Backup, d.Backup}, {"final", c.Final, d.Final}, {"c", c.C, d.C}, {"depth", c.Depth, d.Depth}, {"root", c.Root, d.Root},
		{"draw", c.Draw, d.Draw}, {"width", c.Width, d.Width}, {"alpha", c.Alpha, d.Alpha}, {"tokens", c.Tokens, d.Tokens}, {"least", c.Least, d.Least}, {"ms", c.Millis, d.Millis},
	} {
		if f.is != f.def {
			args = append(args, "--tree-"+f.name, fmt.Sprint(f.is))
		}
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
