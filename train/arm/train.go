package arm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/muse-agent/muse/internal/atomicfile"
	"github.com/muse-agent/muse/train"
	"github.com/muse-agent/muse/worldmodel"
)

// Names of the files of a training's folder, beside run.json and episodes.jsonl.
const (
	FileCheckpoint = "checkpoint.safetensors" // everything to go on with, replay included
	FileModel      = "model.safetensors"      // the model alone
	FileCurve      = "curve.jsonl"
	FileCurvePlot  = "curve.svg"
	FileReport     = "report.json"
)

// Control is what a caller may do while a training runs.
type Control struct {
	// Stop is asked after each round; true saves a checkpoint and ends with ErrStopped.
	Stop func() bool
	// Point is told each new point of the curve.
	Point    func(Point)
	Progress *train.Progress
}

// ErrStopped: the caller wanted to stop; the same command goes on.
var ErrStopped = errors.New("arm: stopped before the end")

// Train runs a training in a folder, from its last checkpoint if there is one. An
// interrupt saves before it returns. Training that diverges ends with an error that
// matches worldmodel.ErrDiverged and names the last good checkpoint.
func Train(ctx context.Context, run *train.Run, cfg Config, c Control) (*Learner, error) {
	path := run.Path(FileCheckpoint)
	var l *Learner
	_, err := os.Stat(path)
	switch {
	case err == nil:
		l, err = OpenLearner(path, cfg, run.Manifest.Seed)
	case errors.Is(err, fs.ErrNotExist):
		l, err = NewLearner(cfg, run.Manifest.Seed)
	}
	if err != nil {
		return nil, err
	}
	defer l.trainer.Close()
	c.Progress.Add(l.round, "")
	last := "no checkpoint was written yet"
	if l.trainer.Updates() > 0 {
		last = fmt.Sprintf("%s holds round %d", path, l.round)
	}
	save := func() error {
		if err := l.Save(path); err != nil {
			return err
		}
		last = fmt.Sprintf("%s holds round %d", path, l.round)
		return l.export(run)
	}
	for !l.done() {
		points, round := len(l.curve), l.round
		if err := l.Step(); err != nil {
			if errors.Is(err, worldmodel.ErrDiverged) {
				return nil, fmt.Errorf("round %d: %w; %s", l.round, err, last)
			}
			return nil, err
		}
		note := fmt.Sprintf("%d updates", l.trainer.Updates())
		for _, p := range l.curve[points:] {
			note = fmt.Sprintf("success %.2f", p.Success)
			if c.Point != nil {
				c.Point(p)
			}
		}
		c.Progress.Add(l.round-round, note)
		stop := ctx.Err() != nil || c.Stop != nil && c.Stop()
		if stop || l.round == round || l.round%cfg.SaveEvery == 0 || l.done() {
			if err := save(); err != nil {
				return nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return l, err
		}
		if stop && !l.done() {
			return l, ErrStopped
		}
	}
	svg := atomicfile.WriteFile(run.Path(FileCurvePlot), []byte(PlotCurve(l.curve)), 0o644)
	return l, errors.Join(l.export(run), svg, l.Model().Save(run.Path(FileModel)))
}
