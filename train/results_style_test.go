package train

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muse-agent/muse/reflexion"
)

func TestStyles(t *testing.T) {
	muse, err := reflexion.Default("muse")
	if err != nil {
		t.Fatal(err)
	}
	always := muse
	always.Forget = reflexion.ForgetAlways
	partly := muse
	partly.Foresee, partly.Rethink, partly.Doubt = true, 1, .3
	for _, c := range []struct {
		c     reflexion.Config
		style string
		flags []string
	}{
		{muse, "", nil},
		{reflexion.SecondThoughts(muse), "second thoughts", []string{"--second-thoughts"}},
		{always, "failures forgotten", []string{"--forget", "always"}},
		{partly, "failures foreseen, 1 rethinks below 0.3", []string{"--foresee", "--rethink", "1", "--doubt", "0.3"}},
	} {
		if got := styleOf(PartSpec{Agent: AgentInfo{Config: c.c}}); got != c.style {
			t.Errorf("style %q, want %q", got, c.style)
		}
		if got := styleFlags(c.c); !slices.Equal(got, c.flags) {
			t.Errorf("%s: flags %q, want %q", c.style, got, c.flags)
		}
	}
	d := DefaultAdapt()
	notes := d
	notes.Notes, notes.Rooms, notes.By = true, true, "plain"
	none := d
	none.Reflect, none.Update, none.Episodes = false, false, 3
	for _, c := range []struct {
		c     *AdaptConfig
		style string
		flags []string
	}{
		{nil, "", []string{"--by", "plain"}},
		{&d, "", nil},
		{&notes, "notes, rooms remembered", []string{"--by", "plain", "--notes", "--rooms"}},
		{&none, "no reflections, M_sa not updated", []string{"--episodes", "3", "--reflect=false", "--update=false"}},
	} {
		if got := adaptStyle(c.c); got != c.style {
			t.Errorf("adaptation %q, want %q", got, c.style)
		}
		if got := adaptFlags(c.c); !slices.Equal(got, c.flags) {
			t.Errorf("%s: flags %q, want %q", c.style, got, c.flags)
		}
	}
}

// TestTable: the row of a line is that of its agent, style and column, the largest one;
// rows of other settings stay out.
func TestTable(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	row := func(arm, actor, style, adaptation string, success float64, seeds int) ResultRow {
		return ResultRow{SelectionRow: SelectionRow{Arm: arm, Actor: actor, Adaptation: adaptation, Horizon: 4, Rollouts: 5, Trials: 1,
			Success: v(success), CILow: v(success), CIHigh: v(success), Steps: v(50), NTasks: 134, Seeds: seeds}, Split: "unseen", Style: style}
	}
	other := row("muse-best", "base", "", AdaptNone, .99, 9)
	other.Horizon = 2
	r := &Results{Selection: SelectionResults{Rows: []ResultRow{
		row("react", "base", "", AdaptNone, .5, 2), row("react", "base", "failures forgotten", AdaptNone, .6, 2),
		row("muse-best", "base", "", AdaptNone, .48, 1), row("muse-best", "base", "", AdaptNone, .49, 2), other,
		row("muse-best", "base", "second thoughts", AdaptNone, .9, 2), row("muse-best", "base", "second thoughts", AdaptTask, .95, 2),
		row("reflexion", "base+sft", "", AdaptNone, .7, 2), row("reflexion", "base", "", AdaptNone, .51, 2),
	}}}
	var b strings.Builder
	r.pageTable(func(format string, a ...any) { b.WriteString(fmt.Sprintf(format, a...)) })
	for _, want := range []string{
		"| ReAct | 0.500 [0.500, 0.500] | – |", "| Reflexion | 0.510", "| Reflexion + SFT/DPO | 0.700", "| MUSE, best | 0.490",
		"| ReAct that forgets its failures (control) | 0.600", "| **second thoughts, best** | 0.900 [0.900, 0.900] | 0.950 [0.950, 0.950] | 50.0 / 50.0 | 134 × 2 / 134 × 2 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "0.99") {
		t.Errorf("a row of another horizon in\n%s", &b)
	}
}
