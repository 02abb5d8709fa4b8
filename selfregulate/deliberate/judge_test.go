package deliberate_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/selfregulate/deliberate"
)

// next makes a model that gives these alternatives.
func next(top ...chat.Token) chat.Func {
	return chat.Func{Name: "judge", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		if r.TopLogProbs == 0 || r.MaxTokens != 1 || r.Temperature != 0 {
			return chat.Reply{}, errors.New("not a logprob question")
		}
		if len(top) == 0 {
			return chat.Reply{Text: "Yes"}, nil
		}
		return chat.Reply{Text: top[0].Text, LogProbs: []chat.Token{{Text: top[0].Text, LogProb: top[0].LogProb, Top: top}}}, nil
	}}
}

func tok(s string, p float64) chat.Token { return chat.Token{Text: s, LogProb: math.Log(p)} }

func TestLogProbJudge(t *testing.T) {
	one := []deliberate.Candidate{{Kind: deliberate.KindPath, Text: "2+2=4"}}
	for name, c := range map[string]struct {
		top  []chat.Token
		want float64
		is   error
		says string
	}{
		"spellings are summed": {[]chat.Token{tok("Yes", .5), tok(" yes", .1), tok("▁YES", .05), tok("No", .2), tok("no.", .05), tok("Maybe", .1)}, .65 / .9, nil, ""},
		"no is not listed":     {[]chat.Token{tok("Yes", .9), tok("Maybe", .06), tok("Sure", .02)}, .9 / .92, nil, ""},
		"only the own token":   {[]chat.Token{tok("Yes", .8)}, .8, nil, ""},
		"only no":              {[]chat.Token{tok("No", .8)}, .2, nil, ""},
		"neither":              {[]chat.Token{tok("<think>", .99)}, 0, nil, "told not to think"},
		"none at all":          {nil, 0, chat.ErrUnable, "vote judge"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &deliberate.LogProb{Model: next(c.top...)}
			v, err := j.Score(t.Context(), "2+2?", one)
			if c.want == 0 {
				if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v %v", v, err)
				}
				return
			}
			if err != nil || math.Abs(v.Scores[0]-c.want) > 1e-9 {
				t.Errorf("got %v %v, want %v", v.Scores, err, c.want)
			}
		})
	}
}

func TestQuestions(t *testing.T) {
	long := strings.Repeat("a", 100) + "the end"
	for _, k := range []deliberate.Kind{deliberate.KindPath, deliberate.KindAnswer, deliberate.KindPartial, deliberate.KindSketch, deliberate.KindProblem, deliberate.KindComplete} {
		s := deliberate.Question("2+2?", deliberate.Candidate{Kind: k, Text: long}, 20)
		if !strings.Contains(s, "2+2?") || strings.Contains(s, long) || strings.Contains(strings.ToLower(s), "wrong") {
			t.Errorf("%s: %q", k, s)
		}
		if k != deliberate.KindProblem && !strings.Contains(s, "the end") {
			t.Errorf("%s doesn't show the end: %q", k, s)
		}
	}
}

// TestChoose: a model that always prefers the letter A has no opinion once the order
// is rotated.
func TestChoose(t *testing.T) {
	c := []deliberate.Candidate{{Text: "x"}, {Text: "y"}}
	biased := next(tok("A", .6), tok(" B", .3))
	v, err := (&deliberate.LogProb{Model: biased}).Choose(t.Context(), "?", c)
	if err != nil || math.Abs(v.Scores[0]-2./3) > 1e-9 {
		t.Errorf("one order: %v %v", v.Scores, err)
	}
	v, err = (&deliberate.LogProb{Model: biased, Orders: 2}).Choose(t.Context(), "?", c)
	if err != nil || math.Abs(v.Scores[0]-.5) > 1e-9 || math.Abs(v.Scores[1]-.5) > 1e-9 {
		t.Errorf("two orders: %v %v", v.Scores, err)
	}
	if _, err := (&deliberate.LogProb{Model: biased}).Choose(t.Context(), "?", make([]deliberate.Candidate, 27)); err == nil {
		t.Error("27 candidates were taken")
	}
}

func TestVote(t *testing.T) {
	var n atomic.Int64
	m := chat.Func{Name: "m", Reply: func(context.Context, chat.Request) (chat.Reply, error) {
		return chat.Reply{Text: []string{"Yes.", "no", "Hm", "yes"}[n.Add(1)-1]}, nil
	}}
	v, err := (&deliberate.Vote{Model: m, Votes: 4}).Score(t.Context(), "?", []deliberate.Candidate{{Text: "x"}})
	if err != nil || math.Abs(v.Scores[0]-2.5/4) > 1e-9 {
		t.Errorf("got %v %v", v.Scores, err)
	}
}

func TestHTTPJudge(t *testing.T) {
	answers := []string{}
	var got struct {
		Problem    string
		Candidates []deliberate.Candidate
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&got)
		a := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		if a == "503" {
			w.WriteHeader(503)
			return
		}
		_, _ = w.Write([]byte(a))
	}))
	defer s.Close()
	j := &deliberate.HTTP{URL: s.URL + "/score?key=s3cret", Sleep: func(context.Context, time.Duration) error { return nil }}
	c := []deliberate.Candidate{{Kind: deliberate.KindPath, Text: "x"}, {Kind: deliberate.KindAnswer, Text: "y"}}
	answers = []string{"503", `{"scores":[0.25,null]}`}
	v, err := j.Score(t.Context(), "2+2?", c)
	if err != nil || v.Scores[0] != .25 || v.Scores[1] == v.Scores[1] || v.Usage.Retries != 1 || got.Problem != "2+2?" || got.Candidates[1].Kind != deliberate.KindAnswer {
		t.Errorf("got %+v %v, sent %+v", v, err, got)
	}
	for body, is := range map[string]error{"503": nil, "<html>": nil, `{"error":"no credit"}`: nil, `{"scores":[1]}`: deliberate.ErrVerdict} {
		answers = []string{body}
		_, err := j.Score(t.Context(), "?", c)
		if err == nil || is != nil && !errors.Is(err, is) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "judge") {
			t.Errorf("%s: %v", body, err)
		}
	}
	s.Close()
	if _, err := j.Score(t.Context(), "?", c); !errors.Is(err, llm.ErrUnavailable) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("nobody listens: %v", err)
	}
}

// counts is a success predictor that likes long trajectories.
type counts struct{}

func (counts) Name() string { return "counts" }
func (counts) Assess(_ context.Context, in []selfassess.Input) ([]selfassess.Assessment, error) {
	out := make([]selfassess.Assessment, len(in))
	for i, x := range in {
		out[i].P = float64(len(x.Pairs)) / 10
		if x.Task != "put a mug in shelf." || x.Limit != 50 {
			return nil, errors.New("another task")
		}
	}
	return out, nil
}

func TestAssessorAndCalibration(t *testing.T) {
	j := &deliberate.Assessor{MSA: counts{}}
	c := []deliberate.Candidate{{Text: "> go to desk 1\nYou see a mug 1.\n> take mug 1 from desk 1\nYou pick up the mug 1."}, {Text: "I don't know."}}
	v, err := j.Score(t.Context(), "put a mug in shelf.", c)
	if err != nil || v.Scores[0] != .2 || v.Scores[1] != 0 {
		t.Errorf("got %v %v", v.Scores, err)
	}
	cal := &deliberate.Calibrated{Judge: j, Calibration: selfassess.Calibration{Kind: "platt", A: 1, B: 1}}
	v, err = cal.Score(t.Context(), "put a mug in shelf.", c)
	want := 1 / (1 + math.Exp(-(math.Log(.25) + 1)))
	if err != nil || math.Abs(v.Scores[0]-want) > 1e-9 || cal.Identity() != "counts" {
		t.Errorf("calibrated %v %v, want %v", v.Scores, err, want)
	}
}
