package train

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// HashFiles hashes what a run reads: of a folder its episodes and siblings files.
// The keys are the paths as given; the values say nothing about where files lie.
func HashFiles(paths ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range paths {
		files := []string{p}
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			files = []string{filepath.Join(p, FileEpisodes), filepath.Join(p, FileSiblings), filepath.Join(p, FilePreferences)}
		}
		h := sha256.New()
		n := 0
		for _, name := range files {
			f, err := os.Open(name)
			if errors.Is(err, fs.ErrNotExist) && len(files) > 1 {
				continue
			} else if err != nil {
				return nil, fmt.Errorf("train: %w", err)
			}
			_, err = io.Copy(h, f)
			if err := errors.Join(err, f.Close()); err != nil {
				return nil, fmt.Errorf("train: %s: %w", name, err)
			}
			n++
		}
		if n == 0 {
			return nil, fmt.Errorf("train: %s holds no %s, %s or %s", p, FileEpisodes, FileSiblings, FilePreferences)
		}
		out[p] = hex.EncodeToString(h.Sum(nil))[:16]
	}
	return out, nil
}
