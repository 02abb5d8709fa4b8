package train

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
)

// ResultRow is one line of selection.json: an arm, and how to play it again.
type ResultRow struct {
	SelectionRow
	Split   string `json:"split"`
	Seed    uint64 `json:"seed"`
	Command string `json:"command"`
	// Style is what the agent does beyond the paper's loop, AdaptStyle what its
	// adaptation does otherwise than by default.
	Style      string `json:"style,omitempty"`
	AdaptStyle string `json:"adapt_style,omitempty"`
	Games      string `json:"games,omitempty"` // hash of the set, where it is not the shipped one
}

// Comparison is a difference of two rows over the games that both played.
type Comparison struct {
	A       string              `json:"a"` // arm
	B       string              `json:"b"`
	AKey    string              `json:"a_key"` // keys of the rows
	BKey    string              `json:"b_key"`
	Actor   string              `json:"actor"`
	Success selfassess.Estimate `json:"success"` // A − B, 95 % interval by bootstrap over games
	Steps   selfassess.Estimate `json:"steps"`
	// Solved is the difference of games won at the last trial or before.
	Solved *selfassess.Estimate `json:"solved,omitempty"`
	NTasks int                  `json:"n_tasks"`
}

// SelectionResults is docs/results/selection.json.
type SelectionResults struct {
	Format  string       `json:"format"` // muse/selection@1
	Rows    []ResultRow  `json:"rows"`
	Paired  []Comparison `json:"paired"`
	Missing []string     `json:"missing"`
}

// AssessmentResults is docs/results/assessment.json.
type AssessmentResults struct {
	Format   string            `json:"format"` // muse/assessment@1
	Rows     []AssessRow       `json:"rows"`
	Change   []AssessChange    `json:"change"`
	Training []TrainingSummary `json:"training"`
	Missing  []string          `json:"missing"`
}

// AssessChange is the paired difference of a metric, after − before adaptation.
type AssessChange struct {
	Actor string `json:"actor"`
	MSA   string `json:"m_sa"`
	ChangeRow
}

// Results are all committed results.
type Results struct {
	Selection  SelectionResults
	Assessment AssessmentResults
	// Commands that made the assessment rows, in the order of the files.
	Commands []string
	Targets  []Target
}

// CompileResults makes the result tables from part files and assessment files. It
// plays nothing: equal files give equal bytes, and what is not there is listed as
// missing.
func CompileResults(partsDir, assessDir string) (*Results, error) {
	parts, err := ReadParts(partsDir)
	if err != nil {
		return nil, err
	}
	files, err := ReadAssessFiles(assessDir)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 && len(files) == 0 {
		return nil, fmt.Errorf("train: neither %s holds part files nor %s assessment files; `muse eval --parts %s` and `muse results --import RUN` make them", partsDir, assessDir, partsDir)
	}
	slices.SortStableFunc(parts, orderParts)
	r := &Results{}
	r.Selection = SelectionResults{Format: "muse/selection@1", Rows: []ResultRow{}, Paired: []Comparison{}, Missing: []string{}}
	r.Assessment = AssessmentResults{Format: "muse/assessment@1", Rows: []AssessRow{}, Change: []AssessChange{}, Training: []TrainingSummary{}, Missing: []string{}}
	boot := selfassess.Bootstrap{Seed: 1}
	shipped, err := textworld.SetHash("")
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if len(p.Rows) == 0 {
			continue
		}
		row := ResultRow{SelectionRow: p.tabulate(boot), Split: splitOf(p), Seed: p.Spec.Seed}
		row.Actor = shortActor(row.Actor)
		row.Style, row.AdaptStyle = shownStyle(p.Spec), adaptStyle(p.Spec.Adapt)
		if p.Set() != shipped {
			row.Games = p.Set()
		}
		row.Command = commandOf(p, row)
		r.Selection.Rows = append(r.Selection.Rows, row)
	}
	for _, a := range parts {
		for _, b := range parts {
			if c, ok := compareParts(a, b, boot); ok {
				r.Selection.Paired = append(r.Selection.Paired, c)
			}
		}
	}
	for _, f := range files {
		for _, x := range f.Rows {
			x.Actor = shortActor(x.Actor)
			r.Assessment.Rows = append(r.Assessment.Rows, x)
		}
		for _, c := range f.Change {
			r.Assessment.Change = append(r.Assessment.Change, AssessChange{shortActor(f.actor()), f.msa(), c})
		}
		if f.Training != nil {
			t := *f.Training
			t.Actor = shortActor(t.Actor)
			r.Assessment.Training = append(r.Assessment.Training, t)
		}
		if len(f.Command) > 0 {
			r.Commands = append(r.Commands, "muse "+strings.Join(f.Command, " "))
		}
	}
	r.judge()
	return r, nil
}

// Write replaces selection.json, assessment.json and README.md in dir.
func (r *Results) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("train: results: %w", err)
	}
	if err := WriteJSON(filepath.Join(dir, "selection.json"), r.Selection); err != nil {
		return err
	}
	if err := WriteJSON(filepath.Join(dir, "assessment.json"), r.Assessment); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "README.md"), []byte(r.Page()))
}

// shortActor is a model's name as --model takes it.
func shortActor(s string) string {
	return strings.TrimPrefix(strings.TrimPrefix(s, "embedded/"), "scripted/")
}

// armOrder is the order of the tables: the paper's, controls before the method.
var armOrder = []string{"expert", "react", "repeat", "reflexion", "muse-off", "muse-lowest", "muse-random", "muse-best", "muse-mcts", "muse-gated", "muse-first", "muse-planned"}

func armRank(arm string) int {
	base, _, _ := strings.Cut(arm, "@")
	if i := slices.Index(armOrder, base); i >= 0 {
		return i
	}
	return len(armOrder)
}

// orderParts sorts by actor, trials, adaptation, settings, M_sa and agent.
func orderParts(a, b *Part) int {
	x, y := a.Spec, b.Spec
	return cmp.Or(
		cmp.Compare(x.Agent.Model.Name, y.Agent.Model.Name), cmp.Compare(x.Agent.Model.Hash, y.Agent.Model.Hash),
		cmp.Compare(x.Trials, y.Trials), cmp.Compare(x.Adaptation, y.Adaptation),
		cmp.Compare(adaptStyle(x.Adapt), adaptStyle(y.Adapt)), cmp.Compare(x.Agent.Config.Temperature, y.Agent.Config.Temperature),
		cmp.Compare(styleOf(x), styleOf(y)),
		cmp.Compare(armRank(a.Arm), armRank(b.Arm)), cmp.Compare(x.Agent.Assessor, y.Agent.Assessor),
		cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Key, b.Key),
	)
}

// compareParts pairs arms that differ in one thing only: the choice, the memory or
// the adaptation. Rows are compared where model, rules, seeds and temperature agree.
func compareParts(a, b *Part, boot selfassess.Bootstrap) (c Comparison, ok bool) {
	x, y := a.Spec, b.Spec
	p, q := x.Agent, y.Agent
	same := a.Set() == b.Set() && p.Model.Hash == q.Model.Hash && x.Seed == y.Seed && x.Engine == y.Engine && x.MaxSteps == y.MaxSteps && x.Trials == y.Trials &&
		p.ThinkCost == q.ThinkCost && p.EarlyStop == q.EarlyStop && p.Dialect == q.Dialect &&
		p.Config.Temperature == q.Config.Temperature && (p.Config.Plan == q.Config.Plan || plans(p.Selector) || plans(q.Selector)) &&
		(p.Selector == reflexion.ReasonSearch || p.Config.Name != "muse" || q.Config.Name != "muse" || p.Config.Horizon == q.Config.Horizon && p.Config.Rollouts == q.Config.Rollouts && p.Config.Recall == q.Config.Recall)
	if !same || a == b || !wantPair(a, b) {
		return c, false
	}
	ca, cb := a.columns(), b.columns()
	c = Comparison{A: styled(a), B: styled(b), AKey: a.Key, BKey: b.Key, Actor: shortActor(p.Model.Name)}
	if x.Adaptation != y.Adaptation {
		c.A, c.B = c.A+", "+adaptLabel(x.Adaptation), c.B+", "+adaptLabel(y.Adaptation)
	} else if x.Adaptation != AdaptNone {
		c.A, c.B = c.A+", adapted", c.B+", adapted"
	}
	c.Success, c.NTasks = selfassess.DiffByTask(ca.task, ca.won, cb.task, cb.won, boot)
	c.Steps, _ = selfassess.DiffByTask(ca.task, ca.steps, cb.task, cb.steps, boot)
	c.Success, c.Steps = rounded(c.Success), rounded(c.Steps)
	if x.Trials > 1 {
		s, _ := selfassess.DiffByTask(ca.unit, ca.solved, cb.unit, cb.solved, boot)
		s = rounded(s)
		c.Solved = &s
	}
	return c, c.NTasks > 0
}

// styled is an arm with its style.
func styled(p *Part) string {
	if s := shownStyle(p.Spec); s != "" {
		return p.Arm + " (" + s + ")"
	}
	return p.Arm
}

func adaptLabel(s string) string {
	if s == AdaptNone {
		return "not adapted"
	}
	return "adapted"
}

// wantPair says which differences are reported: best against the other choices,
// chance against plain sampling, reflection against repetition, after against before.
func wantPair(a, b *Part) bool {
	x, y := a.Spec.Agent.Selector, b.Spec.Agent.Selector
	muse := a.Spec.Agent.Config.Name == "muse" && b.Spec.Agent.Config.Name == "muse"
	sameMSA := a.Spec.Agent.Assessor == b.Spec.Agent.Assessor || a.Spec.Agent.Assessor == "" || b.Spec.Agent.Assessor == ""
	// A tree is compared with best rollout of any number and length of futures: what they
	// share is the price.
	if muse && x == reflexion.ReasonSearch {
		return y == "best" && a.Spec.Agent.Assessor == b.Spec.Agent.Assessor && a.Spec.Adaptation == b.Spec.Adaptation && sameThoughts(a.Spec.Agent.Config, b.Spec.Agent.Config)
	}
	// Muse is compared with muse of the same style, with others of any.
	if muse && styleOf(a.Spec) != styleOf(b.Spec) {
		return false
	}
	if a.Spec.Adaptation == AdaptTask && b.Spec.Adaptation == AdaptTask && adaptStyle(a.Spec.Adapt) != adaptStyle(b.Spec.Adapt) {
		return false
	}
	if a.Spec.Adaptation != b.Spec.Adaptation {
		return a.Spec.Adaptation == AdaptTask && armRank(a.Arm) == armRank(b.Arm) && setting(a.Spec.Agent.Assessor) == setting(b.Spec.Agent.Assessor)
	}
	switch {
	case muse && variantPair(x, y):
		return sameMSA
	case muse && x == "best":
		return sameMSA && (y == "random" || y == "lowest" || y == "off")
	case muse && x == "random":
		return y == "lowest" || y == "off"
	case x == "best" || x == "random":
		return b.Arm == "react" || b.Arm == "reflexion"
	}
	return a.Arm == "reflexion" && (b.Arm == "repeat" || b.Arm == "react")
}

func rounded(e selfassess.Estimate) selfassess.Estimate {
	f := func(v float64) float64 { return math.Round(v*1e4) / 1e4 } // NaN stays NaN
	return selfassess.Estimate{Value: f(e.Value), Low: f(e.Low), High: f(e.High)}
}

// setting is the named setting of an assessor: "history+embedding/sibling".
func setting(assessor string) string {
	s, _, _ := strings.Cut(strings.TrimPrefix(assessor, "msa/"), "@")
	return strings.TrimSuffix(s, " adapted")
}

// games are the ids of a part's rows, sorted, each once.
func (p *Part) games() (ids []string) {
	for _, r := range p.Rows {
		if len(ids) == 0 || ids[len(ids)-1] != r.Game {
			ids = append(ids, r.Game) // rows are sorted by game
		}
	}
	return ids
}

// splitOf names the split of the part's games, "" where they are of several or of
// none that ships.
func splitOf(p *Part) string {
	in := map[string]string{}
	for _, g := range textworld.Catalog() {
		in[g.ID] = g.Split
	}
	split := ""
	for i, id := range p.games() {
		s, ok := in[id]
		if !ok || i > 0 && s != split {
			return ""
		}
		split = s
	}
	return strings.TrimPrefix(split, "valid_")
}

// commandOf is the command line that plays the part again.
func commandOf(p *Part, r ResultRow) string {
	s, a := p.Spec, p.Spec.Agent
	base, name, _ := strings.Cut(p.Arm, "@")
	args := append([]string{"muse", "eval", "--agent", base}, variantFlags(a.Selector)...)
	if s.Adaptation == AdaptTask {
		args = append([]string{"muse", "adapt", "--agent", base}, adaptFlags(s.Adapt)...)
	}
	if a.Selector != "expert" {
		args = append(args, "--model", shortActor(a.Model.Name))
	}
	switch {
	case r.Games != "":
		args = append(args, "--games", "FILE") // of the set r.Games
	case r.Split != "":
		args = append(args, "--split", r.Split)
	}
	if all := splitSize(r.Split); all > 0 && r.NTasks < all {
		args = append(args, "--sample", fmt.Sprint(r.NTasks))
	}
	if s.Adaptation == AdaptTask {
		args = append(args, "--tests", fmt.Sprint(r.Seeds))
	} else {
		args = append(args, "--seeds", fmt.Sprint(r.Seeds))
	}
	if a.Assessor != "" {
		args = append(args, "--msa", "runs/"+msaRun(name, a.Assessor, r.Actor))
	}
	if s.Adaptation == AdaptTask {
		args = append(args, "--collect", "runs/collect-"+r.Actor)
	}
	if a.Selector != "expert" {
		if t := a.Config.Temperature; t != .5 {
			args = append(args, "--temperature", fmt.Sprint(t))
		}
		if a.Config.Name == "muse" && a.Config.Horizon != 4 {
			args = append(args, "--horizon", fmt.Sprint(a.Config.Horizon))
		}
		args = append(args, styleFlags(a.Config)...)
		if a.EarlyStop > 0 {
			args = append(args, "--early-stop", fmt.Sprint(a.EarlyStop))
		}
	}
	if a.ThinkCost > 0 {
		args = append(args, "--think-cost", fmt.Sprint(a.ThinkCost))
	}
	if s.Trials > 1 {
		args = append(args, "--trials", fmt.Sprint(s.Trials))
	}
	args = append(args, "--seed", fmt.Sprint(s.Seed))
	if s.Adaptation != AdaptTask {
		args = append(args, "--parts", "docs/results/parts")
	}
	return strings.Join(args, " ")
}

// msaRun is the conventional run folder of a self-assessment.
func msaRun(name, assessor, actor string) string {
	if name == "" {
		name = "default"
		if strings.HasPrefix(assessor, "msa/"+selfassess.Paper().String()) {
			name = "paper"
		}
	}
	if strings.HasSuffix(name, actor) {
		return name
	}
	return name + "-" + actor
}

func splitSize(split string) int {
	n := 0
	for _, g := range textworld.Catalog() {
		if strings.TrimPrefix(g.Split, "valid_") == split {
			n++
		}
	}
	return n
}

// ErrStale is matched when committed results differ from what their parts give.
var ErrStale = errors.New("train: the results are not those of the parts")

// Check compares the files of dir with what Write would write.
func (r *Results) Check(dir string) error {
	tmp, err := os.MkdirTemp("", "muse-results-*")
	if err != nil {
		return fmt.Errorf("train: results: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := r.Write(tmp); err != nil {
		return err
	}
	var errs []error
	for _, name := range []string{"selection.json", "assessment.json", "README.md"} {
		want, err := os.ReadFile(filepath.Join(tmp, name))
		if err != nil {
			return fmt.Errorf("train: results: %w", err)
		}
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(have) != string(want) {
			errs = append(errs, fmt.Errorf("%w: %s; run `muse results`", ErrStale, filepath.Join(dir, name)))
		}
	}
	return errors.Join(errs...)
}
