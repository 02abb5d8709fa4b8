package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/selfassess"
)

// AssessFormat is the format tag of an assessment file.
const AssessFormat = "muse/assess@1"

// AssessFile is a small committed file with the figures of one self-assessment:
// what `muse adapt` or `muse assess` measured on unseen games (Rows, Change), or
// what `muse train selfassess` measured on held-out seen games (Training).
type AssessFile struct {
	Format   string            `json:"format"`
	Command  []string          `json:"command,omitempty"` // arguments of the run
	Seed     uint64            `json:"seed"`
	Models   map[string]string `json:"models,omitempty"` // hashes
	Rows     []AssessRow       `json:"rows,omitempty"`
	Change   []ChangeRow       `json:"change,omitempty"`
	Training *TrainingSummary  `json:"training,omitempty"`
}

// TrainingSummary is how well a self-assessment does on tasks that it did not see
// in training, by cross-validation over the seen games.
type TrainingSummary struct {
	Actor    string           `json:"actor"`
	MSA      string           `json:"m_sa"`
	Episodes int              `json:"episodes"`
	Success  float64          `json:"success"` // of these episodes
	States   int              `json:"sibling_states"`
	Lift     *selfassess.Lift `json:"sibling_lift,omitempty"`
	Held     []AssessRow      `json:"held_out"` // first, before, all
	Settings []SettingSummary `json:"settings,omitempty"`
}

// SettingSummary is one line of `muse train selfassess --choose`.
type SettingSummary struct {
	Name    string              `json:"name"`
	Best    selfassess.Estimate `json:"best"`
	Lowest  selfassess.Estimate `json:"lowest"`
	AUROC   selfassess.Estimate `json:"auroc"`
	Skipped string              `json:"skipped,omitempty"`
}

func (f *AssessFile) actor() string {
	if len(f.Rows) > 0 {
		return f.Rows[0].Actor
	}
	return ""
}

func (f *AssessFile) msa() string {
	if len(f.Rows) > 0 {
		return f.Rows[0].MSA
	}
	return ""
}

// ReadAssessFiles reads the *.json files of a folder in the order of their names;
// an absent folder has none. What `muse assess --json` printed is read too.
func ReadAssessFiles(dir string) ([]*AssessFile, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	slices.Sort(names)
	var fs []*AssessFile
	for _, n := range names {
		f := new(AssessFile)
		if err := readJSON(n, f); err != nil {
			return nil, err
		}
		if f.Format == "" && len(f.Rows) > 0 { // of `muse assess --json`
			f.Format = AssessFormat
		}
		if f.Format != AssessFormat {
			return nil, fmt.Errorf("%w: %s has %q, this program reads %q", ErrVersion, n, f.Format, AssessFormat)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

// ImportRun condenses a finished run folder of `muse adapt` or `muse train
// selfassess` into small files: the tests of adapt become parts in partsDir, the
// figures of the self-assessment a file in assessDir. It returns the paths written.
func ImportRun(dir, partsDir, assessDir string) ([]string, error) {
	var m struct {
		Manifest
		Config json.RawMessage `json:"config"`
	}
	if err := readJSON(filepath.Join(dir, FileRun), &m); err != nil {
		return nil, err
	}
	f := &AssessFile{Format: AssessFormat, Seed: m.Seed, Models: m.Models, Command: portable(m.Args)}
	switch m.Command {
	case "adapt":
		return importAdapt(dir, partsDir, assessDir, f, m.Config, m.Data["games"])
	case "selfassess":
		return importTraining(dir, assessDir, f, m.Data)
	}
	return nil, fmt.Errorf("train: %s is a run of %q; only adapt and selfassess can be imported (eval writes its parts itself, with --parts)", dir, m.Command)
}

func importAdapt(dir, partsDir, assessDir string, f *AssessFile, config json.RawMessage, games string) ([]string, error) {
	var res struct {
		Assessment *AssessReport `json:"assessment"`
	}
	if err := readJSON(filepath.Join(dir, "adapt.json"), &res); err != nil {
		return nil, fmt.Errorf("%w: is the run finished? the same command continues it", err)
	}
	var c struct {
		Env   textworld.Options `json:"env"`
		Adapt AdaptConfig       `json:"adapt"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, fmt.Errorf("train: %s: %w", filepath.Join(dir, FileRun), err)
	}
	es, err := ReadEpisodes(dir)
	if err != nil {
		return nil, err
	}
	if len(es) == 0 {
		return nil, fmt.Errorf("train: %s holds no episodes", dir)
	}
	b := &Bench{Env: c.Env, Seed: f.Seed}
	if g, err := textworld.Open(es[0].Task); err == nil {
		b.Games = []*textworld.Game{g} // names the version of the rules
	}
	if b.Set, err = setOf(es, games); err != nil {
		return nil, err
	}
	var wrote []string
	for _, p := range TestParts(b, es, &c.Adapt) {
		if err := p.Save(partsDir); err != nil {
			return nil, err
		}
		wrote = append(wrote, filepath.Join(partsDir, p.File()))
	}
	if res.Assessment == nil || len(res.Assessment.Rows) == 0 {
		return wrote, nil
	}
	f.Rows, f.Change = res.Assessment.Rows, res.Assessment.Change
	for i := range f.Change {
		f.Change[i].Diff = rounded(f.Change[i].Diff)
	}
	path := filepath.Join(assessDir, assessName("adapt", f.actor(), f.msa()))
	return append(wrote, path), WriteLines(path, f)
}

// setOf is the set of games of a finished run: the shipped one where hash, that of
// run.json, is the hash of the shipped games with the ids that were played, in order.
// Another selection is a set of its own.
func setOf(es []*Episode, hash string) (string, error) {
	var games []*textworld.Game
	seen := map[string]bool{}
	for _, e := range es {
		if seen[e.Task] {
			continue
		}
		seen[e.Task] = true
		g, err := textworld.Open(e.Task)
		if err != nil {
			return hash, nil // no shipped game
		}
		games = append(games, g)
	}
	if GameSetHash(games) != hash {
		return hash, nil
	}
	return textworld.SetHash("")
}

func importTraining(dir, assessDir string, f *AssessFile, data map[string]string) ([]string, error) {
	var rep MSAReport
	if err := readJSON(filepath.Join(dir, FileMSAReport), &rep); err != nil {
		return nil, fmt.Errorf("%w: is the run finished? the same command continues it", err)
	}
	t := &TrainingSummary{MSA: rep.Model, Episodes: rep.Episodes, Success: rep.Success, States: rep.States}
	for _, p := range sortedKeys(data) { // the actor stands in the episodes that were learned from
		if t.Actor != "" {
			break
		}
		err := EachEpisode(p, func(e *Episode) error { t.Actor = e.Agent.Model.Name; return errStop })
		if err != nil && !errors.Is(err, errStop) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrVersion) {
			return nil, err
		}
	}
	for _, x := range rep.Held.Positions {
		t.Held = append(t.Held, assessRow(t.Actor, rep.Model, "held-out seen tasks", x))
	}
	if rep.Lift != nil {
		l := *rep.Lift
		l.Random, l.Best, l.Lowest, l.Spread, l.Oracle = rounded(l.Random), rounded(l.Best), rounded(l.Lowest), rounded(l.Spread), rounded(l.Oracle)
		t.Lift = &l
	}
	for _, s := range rep.Settings {
		t.Settings = append(t.Settings, SettingSummary{s.Name, rounded(s.Lift.Best), rounded(s.Lift.Lowest), rounded(s.Chunks.AUROC), s.Skipped})
	}
	f.Training = t
	path := filepath.Join(assessDir, assessName("train", t.Actor, t.MSA))
	return []string{path}, WriteLines(path, f)
}

// portable rewrites a command line so that it says nothing about the machine it
// ran on: folders become runs/NAME, flags that change no result are left out.
func portable(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-q" || a == "--quiet" || a == "--json" || strings.HasPrefix(a, "--workers="):
		case a == "--workers" || a == "--out" || a == "-o":
			i++
		case strings.HasPrefix(a, "--out="):
		default:
			flag, value := "", a
			if strings.HasPrefix(a, "--") {
				if f, v, ok := strings.Cut(a, "="); ok {
					flag, value = f+"=", v
				}
			}
			vs := strings.Split(value, ",")
			for j, v := range vs {
				name, path, ok := strings.Cut(v, "=")
				if !ok {
					name, path = "", v
				} else {
					name += "="
				}
				if filepath.IsAbs(path) || strings.HasPrefix(path, "../") {
					path = "runs/" + filepath.Base(path)
				}
				vs[j] = name + path
			}
			out = append(out, flag+strings.Join(vs, ","))
		}
	}
	return out
}

// errStop ends an iteration early.
var errStop = errors.New("stop")

func assessName(kind, actor, msa string) string {
	r := strings.NewReplacer("/", "-", "+", "-")
	return fmt.Sprintf("%s-%s-%s.json", kind, r.Replace(shortActor(actor)), r.Replace(setting(msa)))
}

// WriteLines writes v as JSON with one row of its lists a line, atomically.
func WriteLines(path string, v any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	b = bytes.ReplaceAll(b, []byte(`},{"`), []byte("},\n{\""))
	b = bytes.ReplaceAll(b, []byte(`":[{"`), []byte("\":[\n{\""))
	return writeFile(path, append(b, '\n'))
}
