package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/muse-agent/muse"

// rooms maps a room (path prefix below the module) to the prefixes it may import.
// The longest matching prefix decides. A room may always import itself and what
// lies under it.
var rooms = map[string][]string{
	"internal":          {"internal"},
	"internal/archtest": {},
	"envs":              {"internal/rng"},
	"envs/envtest":      {"envs", "internal/rng"},
	"envs/textworld":    {"envs", "internal/rng", "internal/nearest", "internal/atomicfile", "internal/jsonl"},
	"worldmodel":        {"internal"},
	"selfassess":        {"internal"},
	"selfregulate":      {"selfassess", "internal"},
	"reflexion":         {"envs", "selfassess", "selfregulate", "internal"},
	"train":             {"envs", "worldmodel", "selfassess", "selfregulate", "reflexion", "internal"},
	"train/corpus":      {"envs", "internal"},
	"train/data":        {},
	"viewer":            {"envs", "internal/runindex", "internal/jsonl", "internal/atomicfile"},
	"viewer/window":     {"viewer", "envs"},
	"cmd":               {""},
	"scripts":           {""},
	"testdata":          {""},
}

// only names modules that exactly one room may import.
var only = map[string]string{
	"github.com/daulet/tokenizers":      "internal/hftok",
	"github.com/yalue/onnxruntime_go":   "internal/onnx",
	"github.com/hajimehoshi/ebiten/v2":  "viewer/window",
	"github.com/sashabaranov/go-openai": "internal/llm/openai",
	"github.com/spf13/cobra":            "cmd/muse",
	"gorgonia.org":                      "selfassess,worldmodel",
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T, tags string) []pkg {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "-tags", tags, "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var ps []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

// under reports whether path is prefix or lies below it; "" holds everything.
func under(path, prefix string) bool {
	return prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")
}

// room returns the longest room that holds path.
func room(path string) (string, bool) {
	best, ok := "", false
	for r := range rooms {
		if under(path, r) && (!ok || len(r) > len(best)) {
			best, ok = r, true
		}
	}
	return best, ok
}

// violations lists every import that the table does not allow.
func violations(ps []pkg) []string {
	var bad []string
	for _, p := range ps {
		from := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		r, ok := room(from)
		if !ok {
			bad = append(bad, from+" is in no room: add it to the table in internal/archtest and ARCHITECTURE.md")
			continue
		}
		for _, imp := range p.Imports {
			for m, owners := range only {
				if under(imp, m) && !anyUnder(from, strings.Split(owners, ",")) {
					bad = append(bad, from+" imports "+imp+", which only "+owners+" may")
				}
			}
			if !under(imp, module) {
				continue
			}
			to := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
			if under(to, r) || anyUnder(to, rooms[r]) {
				continue
			}
			bad = append(bad, from+" imports "+to+", which the room "+r+" may not")
		}
	}
	return bad
}

func anyUnder(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if under(path, p) {
			return true
		}
	}
	return false
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, tags := range []string{"", "native"} {
		ps := list(t, tags)
		if len(ps) < 5 {
			t.Fatalf("tags %q: only %d packages listed", tags, len(ps))
		}
		for _, v := range violations(ps) {
			t.Errorf("tags %q: %s", tags, v)
		}
	}
}

// The checker itself must be able to fail.
func TestViolationsAreFound(t *testing.T) {
	bad := violations([]pkg{
		{ImportPath: module + "/envs", Imports: []string{module + "/train"}},
		{ImportPath: module + "/selfassess", Imports: []string{module + "/envs"}},
		{ImportPath: module + "/viewer", Imports: []string{"github.com/hajimehoshi/ebiten/v2/text"}},
		{ImportPath: module + "/train/corpus", Imports: []string{module + "/reflexion"}},
		{ImportPath: module + "/nowhere"},
	})
	if len(bad) != 5 {
		t.Fatalf("found %d violations, want 5: %q", len(bad), bad)
	}
}
