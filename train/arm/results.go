package arm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/train"
)

// IsTableFile reports whether a table may have this name in a folder of results.
func IsTableFile(name string) bool {
	for _, k := range resultKinds {
		if k.format == TableFormat && strings.HasPrefix(name, k.prefix+"-") && strings.HasSuffix(name, ".json") && name == filepath.Base(name) {
			return true
		}
	}
	return false
}

// FileResults is the page that [WriteResults] makes of a folder.
const FileResults = "README.md"

// The kinds of result files: <kind>-<name>.json.
var resultKinds = []struct {
	prefix, format, title, text string
	into                        func() fmt.Stringer
}{
	{"train", TrainReportFormat, "Training", "Success is that of the actor's mean on starts of its own, any step and last step; each curve shows every point.",
		func() fmt.Stringer { return &TrainReport{} }},
	{"dynamics", OpenLoopFormat, "Open-loop prediction", "Five observations of an episode that the model was not trained on, then fifteen steps from the actions alone. Above 1 the model is better than repeating the last observation.",
		func() fmt.Stringer { return &OpenLoopReport{} }},
	{"siblings", SiblingFormat, "Labels that select", "What choosing among actions at one state gains: restored states, each action played on.",
		func() fmt.Stringer { return &SiblingReport{} }},
	{"eval", TableFormat, "Playing without adaptation", "By the policy's mean, no updates.",
		func() fmt.Stringer { return &Table{} }},
	{"adapt", TableFormat, "While adapting", "Twenty episodes a task with task id 0, updates after each; actions are samples.",
		func() fmt.Stringer { return &Table{} }},
	{"test", TableFormat, "After adaptation", "By the policy's mean, no updates.",
		func() fmt.Stringer { return &Table{} }},
}

// Results makes the page of a folder of result files: reports of training and of the
// checks, and tables. Equal files give equal bytes.
func Results(dir string) (string, error) {
	var b strings.Builder
	b.WriteString(`# The world-model agent on the arm

Made by ` + "`muse results arm`" + ` from the files beside it; do not edit. scripts/world.sh makes
the files. Brackets are 95 % intervals by bootstrap over tasks (all episodes of a task are drawn
together). *solved*: tasks with at least half of their episodes solved; *once*: with at least one (the
paper's count). *time*: decisions to the first success, a failure counts 100. A name in front of @
is the agent, the one behind it the model, all its training seeds together.
`)
	found := 0
	for _, k := range resultKinds {
		files, err := filepath.Glob(filepath.Join(dir, k.prefix+"-*.json"))
		if err != nil {
			return "", fmt.Errorf("arm: results: %w", err)
		}
		slices.Sort(files)
		for i, path := range files {
			if i == 0 {
				fmt.Fprintf(&b, "\n## %s\n\n%s\n", k.title, k.text)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("arm: results: %w", err)
			}
			rep := k.into()
			var tag struct {
				Format string `json:"format"`
			}
			if err := errors.Join(json.Unmarshal(raw, rep), json.Unmarshal(raw, &tag)); err == nil && tag.Format != k.format {
				return "", fmt.Errorf("arm: results: %s: format is %q, want %q; make it again with scripts/world.sh", path, tag.Format, k.format)
			} else if err != nil {
				return "", fmt.Errorf("arm: results: %s: %w; make it again with scripts/world.sh", path, err)
			}
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), k.prefix+"-"), ".json")
			fmt.Fprintf(&b, "\n### %s\n\n```\n%s```\n", name, rep)
			if svg := strings.TrimSuffix(filepath.Base(path), ".json") + ".svg"; exists(filepath.Join(dir, svg)) {
				fmt.Fprintf(&b, "\n![%s of %s](%s)\n", k.title, name, svg)
			}
			found++
		}
	}
	if found == 0 {
		return "", fmt.Errorf("arm: results: %s holds no result file (train-NAME.json, dynamics-NAME.json, …); scripts/world.sh makes them", dir)
	}
	return b.String(), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// WriteResults writes the page of a folder into it.
func WriteResults(dir string) error {
	page, err := Results(dir)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, FileResults), []byte(page), 0o644); err != nil {
		return fmt.Errorf("arm: results: %w", err)
	}
	return nil
}

// CheckResults fails with an error that matches [train.ErrStale] where the page in dir isn't
// what its files give.
func CheckResults(dir string) error {
	page, err := Results(dir)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(dir, FileResults))
	if err != nil {
		return fmt.Errorf("arm: results: %w", err)
	}
	if string(got) != page {
		return fmt.Errorf("arm: %w: %s; run `muse results arm`", train.ErrStale, filepath.Join(dir, FileResults))
	}
	return nil
}
