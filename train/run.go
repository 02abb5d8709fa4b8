package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/muse-agent/muse/internal/rng"
)

// RunFormat is the format tag of run.json.
const RunFormat = "muse/run@1"

// Names of the files of a run folder.
const (
	FileRun      = "run.json"
	FileEpisodes = "episodes.jsonl"
	FileTiming   = "timing.jsonl"
	FileMetrics  = "metrics.jsonl"
	FileIndex    = "index"
	FileSiblings = "siblings.jsonl"
)

var (
	// ErrConfig: the folder holds a run with other settings.
	ErrConfig = errors.New("train: the run folder was made with other settings")
	// ErrVersion: a file has a format that this program doesn't read.
	ErrVersion = errors.New("train: unknown format version")
)

// Manifest is run.json: everything that decides the bytes of a run. It is written
// once, when the folder is made, and holds no clock reading.
type Manifest struct {
	Format  string            `json:"format"`
	Command string            `json:"command"` // "collect", "siblings", "selfassess", "adapt", "eval", "demo"
	Args    []string          `json:"args"`    // command line of the first start
	Version string            `json:"version"` // of the program
	Seed    uint64            `json:"seed"`
	Config  any               `json:"config"`           // effective settings
	Data    map[string]string `json:"data,omitempty"`   // hashes: game set, sibling file
	Models  map[string]string `json:"models,omitempty"` // hashes: language model, M_sa, embedder
}

// Run is an open run folder; it holds the folder's lock. Not safe for concurrent use.
type Run struct {
	Dir      string
	Manifest Manifest
	Resumed  bool // the folder held a run.json already
	unlock   func() error
	closers  []io.Closer
}

// OpenRun creates dir, or opens it to continue: the settings, seed, data and
// models must then be the same, otherwise the error matches ErrConfig and names
// the first differing key. A second process in the same folder gets an error that
// matches ErrLocked.
func OpenRun(dir string, m Manifest) (*Run, error) {
	m.Format = RunFormat
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("train: run folder: %w (choose another with --out)", err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Manifest: m, unlock: unlock}
	path := filepath.Join(dir, FileRun)
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Work of unknown settings would be taken for this run's own.
		for _, name := range []string{FileEpisodes, FileSiblings} {
			if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Size() > 0 {
				return nil, errors.Join(fmt.Errorf("%w: %s is there, but %s is not, so its settings are unknown (choose another folder with --out)",
					ErrConfig, filepath.Join(dir, name), FileRun), unlock())
			}
		}
		b, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("train: run.json: %w", err), unlock())
		}
		if err := writeFile(path, append(b, '\n')); err != nil {
			return nil, errors.Join(err, unlock())
		}
		return r, nil
	case err != nil:
		return nil, errors.Join(fmt.Errorf("train: %w", err), unlock())
	}
	if err := sameManifest(path, old, m); err != nil {
		return nil, errors.Join(err, unlock())
	}
	r.Resumed = true
	return r, nil
}

// sameManifest compares what decides the bytes; args and version may differ.
func sameManifest(path string, old []byte, m Manifest) error {
	o, err := exactJSON(old)
	if err != nil {
		return fmt.Errorf("train: %s: %w (remove the folder, or choose another with --out)", path, err)
	}
	if o["format"] != RunFormat {
		return fmt.Errorf("%w: %s has %v, this program reads %s", ErrVersion, path, shorten(fmt.Sprint(o["format"])), RunFormat)
	}
	nb, err := json.Marshal(m)
	if err != nil {
		return err
	}
	n, err := exactJSON(nb)
	if err != nil {
		return err
	}
	// Old files may lack what later versions added with omitempty; compare the
	// parts by flattened key so that the message can name one.
	for _, part := range []string{"command", "seed", "config", "data", "models"} {
		a, b := map[string]string{}, map[string]string{}
		flatten(part, o[part], a)
		flatten(part, n[part], b)
		for _, k := range sortedKeys(a, b) {
			if a[k] != b[k] {
				return fmt.Errorf("%w: %s: %s was %s, now it is %s (choose another folder with --out, or the same settings)",
					ErrConfig, path, k, orNone(a[k]), orNone(b[k]))
			}
		}
	}
	return nil
}

// exactJSON decodes an object and keeps the digits of its numbers: two large seeds
// must not become one float64.
func exactJSON(b []byte) (o map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&o); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the object")
	}
	return o, nil
}

func orNone(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

// flatten turns nested JSON objects into "a.b.c" → compact JSON of the leaf.
func flatten(prefix string, v any, out map[string]string) {
	if m, ok := v.(map[string]any); ok {
		for k, x := range m {
			flatten(prefix+"."+k, x, out)
		}
		return
	}
	if v == nil {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte(fmt.Sprint(v))
	}
	out[prefix] = string(b)
}

func sortedKeys(ms ...map[string]string) []string {
	seen := map[string]bool{}
	var ks []string
	for _, m := range ms {
		for k := range m {
			if !seen[k] {
				seen[k] = true
				ks = append(ks, k)
			}
		}
	}
	sort.Strings(ks)
	return ks
}

// Path is the path of a file of the folder.
func (r *Run) Path(name string) string { return filepath.Join(r.Dir, name) }

// WriteJSON writes v, indented, as a file of the folder, atomically.
func (r *Run) WriteJSON(name string, v any) error { return WriteJSON(r.Path(name), v) }

// WriteJSON writes v, indented, atomically to path.
func WriteJSON(path string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	return writeFile(path, buf.Bytes())
}

// Close writes the derived files (index, metrics.jsonl), closes the logs and
// gives the lock back. It is idempotent.
func (r *Run) Close() error {
	if r.unlock == nil {
		return nil
	}
	var err error
	for _, c := range r.closers {
		err = errors.Join(err, c.Close())
	}
	err = errors.Join(err, writeDerived(r))
	err = errors.Join(err, r.unlock())
	r.unlock = nil
	return err
}

// Hash is a short hash of what decides the bytes of the run: the same settings
// name the same default folder.
func (m Manifest) Hash() string {
	m.Format, m.Args, m.Version = "", nil, ""
	b, err := json.Marshal(m)
	if err != nil {
		return "unknown" // OpenRun fails on the same settings, and says why
	}
	return fmt.Sprintf("%016x", rng.Seed(0, "manifest", string(b)))[:10]
}
