// Package data holds the recorded play that ships inside the program, so that the
// demo can train self-assessment anywhere: of each embedded language model that has
// a folder here, episodes of training games and the outcomes of sibling commands.
//
//	base/episodes.jsonl.gz   muse/episode@1, without imagined futures
//	base/siblings.jsonl.gz   muse/siblings@1
//	base/set.json            who played, from which settings; see train.SetInfo
//
// The files are made by `muse demo pack` from runs of `muse collect` and `muse
// siblings` on the 140 seen games. docs/formats.md describes them field by field.
package data

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

//go:embed all:base
var shipped embed.FS

// ErrNone is matched when nothing was recorded for a model.
var ErrNone = errors.New("data: no recorded play ships for this model")

// Read returns a file of the set of a model ("base"). Safe for concurrent use.
func Read(model, file string) ([]byte, error) {
	b, err := fs.ReadFile(shipped, path.Join(model, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q has no %s (collect it with `muse collect` and `muse siblings`, and name the runs with --collect and --siblings)", ErrNone, model, file)
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return b, nil
}
