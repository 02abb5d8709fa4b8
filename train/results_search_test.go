package train

import (
	"strings"
	"testing"

	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate/search"
)

// A tree stands beside best rollout of the same self-assessment whatever the number and
// length of the futures, and its row says how to play it again.
func TestSearchRows(t *testing.T) {
	made := func(selector, arm string, change func(*reflexion.Config)) *Part {
		c, err := reflexion.Default("muse")
		if err != nil {
			t.Fatal(err)
		}
		change(&c)
		p := NewPart(arm, PartSpec{Agent: AgentInfo{Config: c, Selector: selector, Assessor: "msa/history/sibling@1"}, Adaptation: AdaptNone, Trials: 1, Seed: 1})
		for _, g := range []string{"a", "b", "c"} {
			if err := p.Add(PartRow{Game: g, Won: []int{1}, Steps: []int{5}, Tokens: 100}); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	best := made("best", "muse-best", func(*reflexion.Config) {})
	short := made("best", "muse-best", func(c *reflexion.Config) { c.Horizon, c.Rollouts = 2, 9 })
	tree := made(reflexion.ReasonSearch, "muse-mcts", func(c *reflexion.Config) {
		c.Horizon, c.Search = 2, search.Default()
		c.Search.Tokens, c.Search.Backup = 700, search.Max
	})
	boot := selfassess.Bootstrap{Seed: 1, Draws: 20}
	for _, b := range []*Part{best, short} {
		if c, ok := compareParts(tree, b, boot); !ok || c.NTasks != 3 {
			t.Errorf("the tree isn't compared with %s: %+v", styled(b), c)
		}
		if _, ok := compareParts(b, tree, boot); ok {
			t.Errorf("%s is compared with the tree a second time", styled(b))
		}
	}
	if _, ok := compareParts(best, short, boot); ok {
		t.Error("arms of different futures are compared as if they were one")
	}
	two := made("best", "muse-best", func(c *reflexion.Config) { *c = reflexion.SecondThoughts(*c) })
	if _, ok := compareParts(tree, two, boot); ok {
		t.Error("a tree without second thoughts is compared with an agent that has them")
	}
	if s := styleOf(tree.Spec); s != "tree of 700 tokens, 2 pairs each" {
		t.Errorf("style %q", s)
	}
	if s := styleOf(short.Spec); s != "9 futures, 2 pairs each" || styleOf(best.Spec) != "" {
		t.Errorf("styles %q and %q", s, styleOf(best.Spec))
	}
	cmd := commandOf(tree, ResultRow{})
	for _, w := range []string{"--agent muse-mcts", "--horizon 2", "--tree-tokens 700", "--tree-backup max"} {
		if !strings.Contains(cmd, w) {
			t.Errorf("no %q in %q", w, cmd)
		}
	}
	if strings.Contains(cmd, "--tree-depth") || !strings.Contains(commandOf(short, ResultRow{}), "--rollouts 9") {
		t.Errorf("%q, %q", cmd, commandOf(short, ResultRow{}))
	}
	if got := Tabulate([]*Part{tree}).String(); !strings.Contains(got, "tokens") || !strings.Contains(got, "    20\n") {
		t.Errorf("tokens a command:\n%s", got)
	}
}
