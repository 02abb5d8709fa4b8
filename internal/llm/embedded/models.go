package embedded

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The models as trained by train/embedded.
//
//go:embed models
var shipped embed.FS

// Spec is one entry of models.json. Unknown fields are ignored.
type Spec struct {
	Name            string `json:"name"` // "weak", "base", "strong"
	File            string `json:"file"`
	SHA256          string `json:"sha256"`
	Tokenizer       string `json:"tokenizer"`        // default "tokenizer.json"
	TokenizerSHA256 string `json:"tokenizer_sha256"` // checked where given
	Dim             int    `json:"d"`
	Layers          int    `json:"layers"`
	KVHeads         int    `json:"kv_heads"`
	HeadDim         int    `json:"head_dim"`
	Vocab           int    `json:"vocab"`
	Context         int    `json:"context"`
}

// ErrUnknownModel is matched when no model has the wanted name.
var ErrUnknownModel = errors.New("embedded: unknown model")

// List reads the entries of models.json, shipped ones for dir "".
func List(dir string) ([]Spec, error) {
	f, where, err := folder(dir)
	if err != nil {
		return nil, err
	}
	return list(f, where)
}

// Shipped names the models inside this program.
func Shipped() []string {
	specs, err := List("")
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return names
}

func folder(dir string) (fs.FS, string, error) {
	if dir == "" {
		f, err := fs.Sub(shipped, "models")
		return f, "shipped models", err
	}
	return os.DirFS(dir), dir, nil
}

func list(f fs.FS, where string) ([]Spec, error) {
	b, err := fs.ReadFile(f, "models.json")
	if err != nil {
		return nil, fmt.Errorf("embedded: %s: %w", where, err)
	}
	var specs []Spec
	if err := json.Unmarshal(b, &specs); err != nil {
		return nil, fmt.Errorf("embedded: %s/models.json: %w", where, err)
	}
	for i := range specs {
		s := &specs[i]
		if s.Tokenizer == "" {
			s.Tokenizer = "tokenizer.json"
		}
		if s.Name == "" || s.File == "" || s.Dim <= 0 || s.Layers <= 0 || s.KVHeads <= 0 || s.HeadDim <= 0 || s.Vocab <= 0 || s.Context <= 0 {
			return nil, fmt.Errorf("embedded: %s/models.json: entry %d (%q) lacks name, file, d, layers, kv_heads, head_dim, vocab or context", where, i, s.Name)
		}
	}
	return specs, nil
}

// files is one model, read and checked.
type files struct {
	spec      Spec
	where     string
	graph     []byte
	tokenizer []byte
	hash      string // of graph and tokenizer, hex
}

// load finds a model: the name of a shipped one, a folder with a models.json
// (its only or first entry), or folder/name.
func load(nameOrDir string) (files, error) {
	dir, name := "", nameOrDir
	if strings.ContainsRune(nameOrDir, filepath.Separator) || nameOrDir == "." || nameOrDir == ".." {
		dir, name = filepath.Clean(nameOrDir), ""
		if _, err := os.Stat(filepath.Join(dir, "models.json")); err != nil {
			dir, name = filepath.Dir(dir), filepath.Base(dir)
			if _, err := os.Stat(filepath.Join(dir, "models.json")); err != nil {
				return files{}, fmt.Errorf("embedded: neither %s nor %s has a models.json: %w", filepath.Join(dir, name), dir, ErrUnknownModel)
			}
		}
	}
	f, where, err := folder(dir)
	if err != nil {
		return files{}, err
	}
	specs, err := list(f, where)
	if err != nil {
		return files{}, err
	}
	var have []string
	for _, s := range specs {
		if name == "" || s.Name == name {
			return read(f, where, s)
		}
		have = append(have, s.Name)
	}
	return files{}, fmt.Errorf("%w %q in %s; there are: %s", ErrUnknownModel, name, where, strings.Join(have, ", "))
}

func read(f fs.FS, where string, s Spec) (files, error) {
	out := files{spec: s, where: where}
	h := sha256.New()
	for _, p := range []struct {
		name, want string
		dst        *[]byte
	}{{s.File, s.SHA256, &out.graph}, {s.Tokenizer, s.TokenizerSHA256, &out.tokenizer}} {
		b, err := fs.ReadFile(f, p.name)
		if err != nil {
			return files{}, fmt.Errorf("embedded: model %q of %s: %w", s.Name, where, err)
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); p.want != "" && got != p.want {
			return files{}, fmt.Errorf("embedded: %s/%s has sha256 %s, models.json says %s: the file is damaged or models.json is old", where, p.name, got, p.want)
		}
		h.Write(sum[:])
		*p.dst = b
	}
	out.hash = hex.EncodeToString(h.Sum(nil))
	return out, nil
}
