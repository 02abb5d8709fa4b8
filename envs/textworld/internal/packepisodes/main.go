// Command packepisodes makes testdata/alfworld/episodes.jsonl.gz: a sample of
// published agents' episodes, in the format of textworld.Episode.
//
//	go run ./envs/textworld/internal/packepisodes -from alfworld-trajectories.jsonl.gz -out FILE [-n 2000]
//
// The sample does not look at how our engine replays an episode: all runs of human
// and expert players with commands are taken, then the runs of each model in turn,
// in the order of a hash of run and game. Left out are only episodes that the
// collection itself marks as differing from the original game. The ReAct examples
// name no game; theirs is the train game on which every observation agrees.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
)

// record is what is used of a line of the collection.
type record struct {
	Source  string `json:"source"`
	Run     string `json:"run"`
	TaskID  string `json:"task_id"`
	Goal    string `json:"goal"`
	Model   string `json:"model"`
	Format  string `json:"action_format"`
	InitObs string `json:"init_obs"`
	Success bool   `json:"success"`
	Steps   []struct {
		Action      string `json:"action"`
		Observation string `json:"observation"`
	} `json:"steps"`
	Replay *struct {
		Mismatch int `json:"mismatch"`
	} `json:"replay"`
}

func main() {
	from := flag.String("from", "", "alfworld-trajectories.jsonl.gz")
	out := flag.String("out", "episodes.jsonl.gz", "file to write")
	n := flag.Int("n", 2000, "episodes to keep; 0 keeps every one with commands")
	flag.Parse()
	if err := run(*from, *out, *n); err != nil {
		fmt.Fprintln(os.Stderr, "packepisodes:", err)
		os.Exit(1)
	}
}

func run(from, out string, n int) error {
	f, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("give the collection with -from: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	byModel := map[string][]textworld.Episode{}
	var first []textworld.Episode // human and expert players
	in := bufio.NewReaderSize(z, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var r record
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("%s: %w", from, err)
			}
			if len(r.Steps) > 0 && (r.Replay == nil || r.Replay.Mismatch == 0) {
				e := convert(r)
				switch {
				case e.GameID == "":
					fmt.Fprintf(os.Stderr, "no embedded game agrees with %s (%s)\n", r.TaskID, r.Run)
				case r.Format == "mint-python":
					byModel[r.Model] = append(byModel[r.Model], e)
				default:
					first = append(first, e)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	return write(out, sample(first, byModel, n))
}

// sample takes first, then the models in turn.
func sample(first []textworld.Episode, byModel map[string][]textworld.Episode, n int) []textworld.Episode {
	models := make([]string, 0, len(byModel))
	for m, s := range byModel {
		models = append(models, m)
		sort.SliceStable(s, func(i, j int) bool { return key(s[i]) < key(s[j]) })
	}
	sort.Strings(models)
	for i := 0; ; i++ {
		added := false
		for _, m := range models {
			if n > 0 && len(first) >= n {
				return first
			}
			if i < len(byModel[m]) {
				first = append(first, byModel[m][i])
				added = true
			}
		}
		if !added {
			return first
		}
	}
}

func key(e textworld.Episode) string {
	s := sha256.Sum256([]byte(e.Run + "\x00" + e.GameID))
	return hex.EncodeToString(s[:])
}

func convert(r record) textworld.Episode {
	e := textworld.Episode{GameID: r.TaskID, Dialect: textworld.DialectPut, Source: r.Source, Model: r.Model, Run: r.Run, Success: r.Success}
	for _, s := range r.Steps {
		e.Steps = append(e.Steps, [2]string{s.Action, s.Observation})
	}
	if strings.HasPrefix(r.TaskID, "react-prompt/") {
		e.GameID = findGame(e, r)
	}
	return e
}

// findGame returns the first train game with the same room and goal on which the
// whole episode agrees, "" when there is none.
func findGame(e textworld.Episode, r record) string {
	games, err := textworld.Select(textworld.Selection{Splits: []string{"train"}})
	if err != nil {
		return ""
	}
	for _, g := range games {
		if g.Goal() != r.Goal || !strings.Contains(textworld.NewWorld(g, "").Intro(), r.InitObs) {
			continue
		}
		diffs := 0
		e.Replay(g, func(textworld.Diff) { diffs++ })
		if diffs == 0 {
			return g.ID()
		}
	}
	return ""
}

func write(path string, eps []textworld.Episode) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	for _, e := range eps {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", b.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	fmt.Printf("%s: %d episodes, %d bytes\n", path, len(eps), b.Len())
	return nil
}
