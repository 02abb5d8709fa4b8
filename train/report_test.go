package train

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/tfevents"
	"github.com/muse-agent/muse/reflexion"
	"github.com/muse-agent/muse/selfassess"
)

// reported makes episodes of two agents on 10 games with 3 trials each: muse gets better
// by trial and its probabilities are right, the repeating one does not.
func reported() []*Episode {
	var es []*Episode
	for g := range 10 {
		for trial := range 3 {
			for _, arm := range []string{"muse-best", "repeat"} {
				e := &Episode{ID: fmt.Sprint(arm, g, trial), Task: fmt.Sprint("game-", g), TaskType: []string{"pick", "heat <b>"}[g%2], Arm: arm, Phase: "eval", Trial: trial, Reason: "step limit"}
				e.Success = arm == "muse-best" && g < 3+3*trial || g == 0
				for k := range 4 {
					s := Step{Action: "look", Observation: "You see nothing."}
					if arm == "muse-best" {
						p := 0.2 + 0.1*float64(k)
						if e.Success {
							p = 0.6 + 0.1*float64(k)
						}
						s.Trace.Candidates = []reflexion.Candidate{{Assessed: &selfassess.Assessment{P: p}}}
					}
					e.Steps = append(e.Steps, s)
				}
				e.Usage.CompletionTokens = 100
				es = append(es, e)
			}
		}
	}
	return es
}

func TestPlayReportFigures(t *testing.T) {
	r, err := NewPlayReport("a & b", reported())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 2 || len(r.Curves) != 2 || len(r.Assessment) != 3 || len(r.Reliable) != 1 {
		t.Fatalf("%d groups, %d curves, %d positions, %d reliability plots", len(r.Groups), len(r.Curves), len(r.Assessment), len(r.Reliable))
	}
	m := r.Groups[0]
	if m.Episodes != 30 || m.Tasks != 10 || math.Abs(m.Success.Value-0.6) > 1e-9 || m.Tokens != 100 || len(m.Types) != 2 {
		t.Errorf("%d episodes of %d tasks, success %s, %g tokens, %d types", m.Episodes, m.Tasks, m.Success, m.Tokens, len(m.Types))
	}
	for k, want := range []float64{0.3, 0.6, 0.9} {
		if got := r.Curves[0].Trials[k].Value; math.Abs(got-want) > 1e-9 {
			t.Errorf("trial %d: %g, want %g", k+1, got, want)
		}
		if c := r.Curves[1]; !c.Repeat || math.Abs(c.Trials[k].Value-0.1) > 1e-9 {
			t.Errorf("repeat, trial %d: %+v", k+1, c.Trials[k])
		}
	}
	for _, a := range r.Assessment {
		if a.AUROC.Value != 1 || a.ROC[len(a.ROC)-1] != [2]float64{1, 1} {
			t.Errorf("%s: AUROC %s, curve %v", a.Position, a.AUROC, a.ROC)
		}
	}
	if a := r.Assessment[0]; a.N != 30 {
		t.Errorf("%d first steps", a.N)
	}
	if _, err := NewPlayReport("x", nil); err == nil {
		t.Error("a report about nothing")
	}
}

// The page is one file: nothing in it makes a browser ask anybody, and what comes from
// records is escaped.
func TestReportPageIsSelfContained(t *testing.T) {
	r, err := NewPlayReport("a & <script>", reported())
	if err != nil {
		t.Fatal(err)
	}
	page := r.HTML()
	for _, bad := range []string{"<script", "src=", "href=", "url(", "@import", "<link", "heat <b>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if got := strings.Count(page, "http"); got != strings.Count(page, `xmlns="http://www.w3.org/2000/svg"`)+strings.Count(page, "http-equiv") {
		t.Errorf("%d times http", got)
	}
	again, _ := NewPlayReport("a & <script>", reported())
	if again.HTML() != page {
		t.Error("equal records gave another page")
	}
	for _, name := range Plots {
		svg, err := r.Plot(name)
		if err != nil || svg == "" {
			t.Errorf("%s: %v", name, err)
		}
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s has numbers that are none", name)
		}
	}
	if _, err := r.Plot("pie"); err == nil || !strings.Contains(err.Error(), "reliability") {
		t.Errorf("unknown plot: %v", err)
	}
	if b, err := json.Marshal(r); err != nil || !bytes.Contains(b, []byte("muse/playreport@1")) {
		t.Errorf("JSON: %v", err)
	}
}

func TestReportEvents(t *testing.T) {
	r, err := NewPlayReport("x", reported())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.WriteEvents(dir); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "muse-best-eval", "*"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	s, err := tfevents.Read(files[0])
	if err != nil || len(s) != 2*30+2*3 {
		t.Fatalf("%d scalars, %v", len(s), err)
	}
	if last := s[59]; last.Tag != "episodes/steps" || last.Step != 30 || s[58].Value != float32(18.0/30) {
		t.Errorf("%+v %+v", s[58], last)
	}
}
