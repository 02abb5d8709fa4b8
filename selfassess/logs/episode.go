package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/muse-agent/muse/internal/jsonl"
)

// ErrLog is matched when a line of a log can't be used.
var ErrLog = errors.New("logs: not a usable episode")

// Step is one command of an agent and the answer to it.
type Step struct {
	Action      string `json:"action"`
	Observation string `json:"observation"`
}

// Episode is one logged episode. Only Task, Steps and, for training, Success are
// needed.
type Episode struct {
	ID      string // names the episode in the output; "FILE:LINE" when the log has none
	Task    string // what the agent was told to do
	TaskID  string // episodes of one task share it: folds and intervals group by it
	Model   string // who played; "" when unknown
	Room    string // the first observation, may be empty
	Steps   []Step
	Success bool // meaningless while Known is false
	Known   bool // the log says how the episode ended
}

// line is an episode as it stands in a file: our own records (muse/episode@1) and
// the usual names of published logs are read alike.
type line struct {
	ID        string          `json:"id"`
	Task      string          `json:"task"`
	Goal      string          `json:"goal"`
	TaskID    string          `json:"task_id"`
	Model     string          `json:"model"`
	Agent     json.RawMessage `json:"agent"`
	Room      string          `json:"init_obs"`
	Steps     []Step          `json:"steps"`
	Success   *bool           `json:"success"`
	Available *bool           `json:"steps_available"`
}

// maxSteps bounds an episode; what follows is not read. ALFWorld's limit is 50.
const maxSteps = 1000

// episode checks a line. ok is false for an episode without steps.
func (l *line) episode(where string) (e Episode, ok bool, err error) {
	if len(l.Steps) == 0 || l.Available != nil && !*l.Available {
		return e, false, nil
	}
	e = Episode{ID: l.ID, Task: l.Goal, TaskID: l.TaskID, Model: l.Model, Room: l.Room, Steps: l.Steps[:min(len(l.Steps), maxSteps)]}
	if e.Task == "" {
		e.Task = l.Task
	}
	if e.TaskID == "" {
		e.TaskID = l.Task
	}
	if e.TaskID == "" {
		e.TaskID = e.Task
	}
	if e.Task == "" {
		return e, false, fmt.Errorf("%w: %s has neither \"task\" nor \"goal\"; every line needs {\"task\", \"steps\": [{\"action\", \"observation\"}], \"success\"}", ErrLog, where)
	}
	if e.ID == "" {
		e.ID = where
	}
	if e.Model == "" {
		e.Model = l.agent()
	}
	if l.Success != nil {
		e.Success, e.Known = *l.Success, true
	}
	return e, true, nil
}

// agent is the player's name in {"agent": "name"} or {"agent": {"model": {"name": …}}}.
func (l *line) agent() string {
	var name string
	if json.Unmarshal(l.Agent, &name) == nil {
		return name
	}
	var a struct {
		Model struct {
			Name string `json:"name"`
		} `json:"model"`
	}
	_ = json.Unmarshal(l.Agent, &a) // another shape has no name for us
	return a.Model.Name
}

// Each calls fn for every episode of a file, plain or gzip; "-" reads stdin. It
// returns how many lines had no steps and were left out. A last line that was cut
// off is left out too. Errors name file and line.
func Each(path string, stdin io.Reader, fn func(Episode) error) (empty int, err error) {
	name := path
	var r *jsonl.Reader
	if path == "-" {
		name = "standard input"
		r, err = jsonl.NewReader(name, stdin)
	} else {
		r, err = jsonl.Open(path)
	}
	if err != nil {
		return 0, fmt.Errorf("logs: %w", err)
	}
	defer r.Close()
	for {
		var l line
		switch err := r.Next(&l); {
		case errors.Is(err, io.EOF):
			return empty, nil
		case err != nil:
			return empty, fmt.Errorf("logs: %w (one JSON object a line: task, steps, success)", err)
		}
		e, ok, err := l.episode(fmt.Sprintf("%s:%d", name, r.Line()))
		if err != nil {
			return empty, err
		}
		if !ok {
			empty++
		} else if err := fn(e); err != nil {
			return empty, err
		}
	}
}

// Read reads all episodes of files. An empty result is an error.
func Read(stdin io.Reader, paths ...string) (es []Episode, empty int, err error) {
	if stdin == nil {
		stdin = os.Stdin
	}
	for _, p := range paths {
		n, err := Each(p, stdin, func(e Episode) error { es = append(es, e); return nil })
		empty += n
		if err != nil {
			return nil, empty, err
		}
	}
	if len(es) == 0 {
		return nil, empty, fmt.Errorf("%w: no episode with steps in %q (%d lines without)", ErrLog, paths, empty)
	}
	return es, empty, nil
}

// needOutcome refuses episodes that can't be learnt from.
func needOutcome(es []Episode) error {
	for i := range es {
		if !es[i].Known {
			return fmt.Errorf("%w: episode %s doesn't say how it ended; training and figures need \"success\": true or false on every line (scoring does not)", ErrLog, es[i].ID)
		}
	}
	return nil
}
