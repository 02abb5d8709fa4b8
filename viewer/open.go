package viewer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// OpenOptions say how a run is opened.
type OpenOptions struct {
	// ReadOnly never writes a rebuilt index.
	ReadOnly bool
	// Progress is told how many bytes of how many have been read when an index must be
	// rebuilt. It may be nil.
	Progress func(done, total int64)
}

// Open opens a run folder, a folder with run folders in it, or an episodes.jsonl file. A
// missing or foreign index is rebuilt from the episodes, and written where the folder
// allows it and no process works in it.
func Open(path string, o OpenOptions) (*Run, error) {
	files, err := findEpisodes(path)
	if err != nil {
		return nil, err
	}
	r := &Run{title: filepath.Base(filepath.Clean(path))}
	for _, f := range files {
		p, err := openPart(f, o)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.parts = append(r.parts, p)
	}
	r.join()
	bad := 0
	for i := range r.entries {
		if r.entries[i].Problem != "" {
			bad++
		}
	}
	if bad > 0 && bad == len(r.entries) {
		e := r.entries[0]
		return nil, errors.Join(fmt.Errorf("viewer: %s: no episode can be read; the first: %s", path, Clean(e.Problem)), r.Close())
	}
	return r, nil
}

// findEpisodes names the episode files that path stands for.
func findEpisodes(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w (name a run folder, such as runs/demo-x)", err)
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	if f := filepath.Join(path, fileEpisodes); isFile(f) {
		return []string{f}, nil
	}
	es, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	var found []string
	for _, e := range es { // sorted by name
		if f := filepath.Join(path, e.Name(), fileEpisodes); isFile(f) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("viewer: %s holds no %s, nor does a folder in it: is it a run folder, and has the run begun?", path, fileEpisodes)
	}
	return found, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
