package arm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/train"
)

// TestCommittedPage: the page of docs/results/arm is what its files give.
func TestCommittedPage(t *testing.T) {
	if err := CheckResults(filepath.Join("..", "..", "docs", "results", "arm")); err != nil {
		t.Error(err)
	}
}

// TestResults: files of every kind get their section, a page that was edited is told, and
// a damaged file is named.
func TestResults(t *testing.T) {
	dir := t.TempDir()
	if _, err := Results(dir); err == nil || !strings.Contains(err.Error(), "no result file") {
		t.Errorf("empty folder: %v", err)
	}
	for name, v := range map[string]any{
		"train-a.json":    TrainReport{Format: TrainReportFormat, Recipe: "own play only", Last: Point{Tasks: []TaskPoint{{Task: "reach", Success: .25}}}},
		"adapt-x.json":    Table{Format: TableFormat, Rows: []TableRow{{Agent: "off@muse"}}},
		"siblings-a.json": SiblingReport{Format: SiblingFormat},
	} {
		if err := train.WriteJSON(filepath.Join(dir, name), v); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "train-a.svg"), []byte("<svg/>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteResults(dir); err != nil {
		t.Fatal(err)
	}
	page, err := Results(dir)
	if err != nil || CheckResults(dir) != nil {
		t.Fatal(err, CheckResults(dir))
	}
	for _, want := range []string{"## Training", "own play only", "(train-a.svg)", "off@muse", "## Labels that select"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, FileResults), []byte(page+"."), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := CheckResults(dir); !errors.Is(err, train.ErrStale) {
		t.Errorf("an edited page: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test-y.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Results(dir); err == nil || !strings.Contains(err.Error(), "test-y.json") {
		t.Errorf("a damaged file: %v", err)
	}
}
