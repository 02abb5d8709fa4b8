package ensemble_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/internal/llm/chat"
	"github.com/muse-agent/muse/internal/llm/llmtest"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/selfassess/msv"
	"github.com/muse-agent/muse/selfregulate/deliberate"
	"github.com/muse-agent/muse/selfregulate/ensemble"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestSigmoid: edges of μ, and one case by hand.
func TestSigmoid(t *testing.T) {
	near(t, "σ(0)", ensemble.Sigmoid(0, 1), .5)
	near(t, "σ(1), τ = 1", ensemble.Sigmoid(1, 1), 1/(1+math.Exp(-1)))
	near(t, "σ(1), τ = ½", ensemble.Sigmoid(1, .5), 1/(1+math.Exp(-2)))
	near(t, "σ(−1) = 1 − σ(1)", ensemble.Sigmoid(-1, .7), 1-ensemble.Sigmoid(1, .7))
	if x := ensemble.Sigmoid(1e6, 1e-3); x != 1 {
		t.Errorf("far right: %v", x)
	}
	if x := ensemble.Sigmoid(-1e6, 1e-3); x != 0 {
		t.Errorf("far left: %v", x)
	}
	near(t, "a high temperature knows no difference", ensemble.Sigmoid(1, 1e12), .5)
	c := ensemble.Control{Alpha: msv.Values{.1, .5, .2, -.5, .1}, Tau: .5}
	// .1·.5 + .5·.8 + .2·.6 − .5·.2 + .1·.4 = .51
	near(t, "μ", c.Activation(msv.Values{.5, .8, .6, .2, .4}), 1/(1+math.Exp(-1.02)))
	if c.Activation(msv.Values{.5, .9, .5, .1, .5}) <= c.Activation(msv.Values{.5, .3, .5, .8, .5}) {
		t.Error("a doubting node speaks louder than a confident one")
	}
}

// TestTransition: the softmax by hand, and its edges.
func TestTransition(t *testing.T) {
	var c ensemble.Control
	c.Shift[ensemble.Critic][ensemble.Expert] = msv.Values{0, .4, 0, .1, 0}
	c.Shift[ensemble.Critic][ensemble.Critic] = msv.Values{0, 0, 0, .5, 0}
	p := c.Transition(ensemble.Critic, msv.Values{0, .9, 0, .2, 0})
	// scores: Expert .36 + .02 = .38, Critic .1, the other three 0
	z := math.Exp(.38) + math.Exp(.1) + 3
	near(t, "P(Expert | Critic)", p[ensemble.Expert], math.Exp(.38)/z)
	near(t, "P(Critic | Critic)", p[ensemble.Critic], math.Exp(.1)/z)
	near(t, "P(Generalist | Critic)", p[ensemble.Generalist], 1/z)
	c.Shift[ensemble.Critic][ensemble.Expert] = msv.Values{0, 1e5, 0, 0, 0}
	p = c.Transition(ensemble.Critic, msv.Values{0, 1, 0, 0, 0})
	near(t, "a huge score", p[ensemble.Expert], 1)
	d := ensemble.DefaultControl()
	if w := d.Shift[ensemble.Critic][ensemble.Expert]; w[msv.CE] != .4 || w[msv.CI] != .1 {
		t.Errorf("Critic → Domain Expert weighs %v; the source has CE .4, CI .1", w)
	}
	rapid.Check(t, func(t *rapid.T) {
		var v msv.Values
		for k := range v {
			v[k] = rapid.Float64Range(0, 1).Draw(t, "v")
		}
		sum := 0.
		for _, x := range d.Transition(ensemble.Role(rapid.IntRange(0, 4).Draw(t, "r")), v) {
			sum += x
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("probabilities sum to %v", sum)
		}
	})
}

// TestAssign compares with brute force, up to 7 nodes.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		m := rapid.IntRange(n, 7).Draw(t, "m")
		cost := make([][]float64, n)
		for i := range cost {
			for range m {
				// Few levels: ties are the hard cases.
				cost[i] = append(cost[i], float64(rapid.IntRange(-4, 4).Draw(t, "c"))/2)
			}
		}
		got := ensemble.Assign(cost)
		sum, used := 0., map[int]bool{}
		for i, k := range got {
			if used[k] {
				t.Fatalf("column %d is given twice: %v", k, got)
			}
			used[k] = true
			sum += cost[i][k]
		}
		best := math.Inf(1)
		var try func(i int, taken int, c float64)
		try = func(i, taken int, c float64) {
			if i == n {
				best = min(best, c)
				return
			}
			for k := range m {
				if taken>>k&1 == 0 {
					try(i+1, taken|1<<k, c+cost[i][k])
				}
			}
		}
		try(0, 0, 0)
		if math.Abs(sum-best) > 1e-9 {
			t.Fatalf("%v costs %v, the best %v", got, sum, best)
		}
	})
	if ensemble.Assign(nil) != nil {
		t.Error("nothing to assign")
	}
}

func TestThresholds(t *testing.T) {
	th := ensemble.Default().Thresholds
	calm := msv.Values{.6, .9, .9, .1, .3}
	with := func(d msv.Dimension, x float64) msv.Values { v := calm; v[d] = x; return v }
	for _, c := range []struct {
		vs     []msv.Values
		system int
		says   string
	}{
		{[]msv.Values{calm}, 1, "CE 90"},
		{[]msv.Values{with(msv.CE, .6)}, 2, "CE 60 is below 70"},
		{[]msv.Values{with(msv.CE, .5), with(msv.CE, .95)}, 1, ""}, // mean .725
		{[]msv.Values{with(msv.EM, .4)}, 2, "EM 40 is below 50"},
		{[]msv.Values{with(msv.CI, .5)}, 2, "CI (75th percentile) 50 is above 40"},
		{[]msv.Values{with(msv.CI, .5), calm, calm, calm}, 1, ""},               // percentile .2
		{[]msv.Values{with(msv.CI, .5), with(msv.CI, .5), calm, calm}, 2, "CI"}, // percentile .5
		{[]msv.Values{with(msv.PI, .8)}, 2, "PI 80 is above 75"},
		{[]msv.Values{with(msv.CE, .7), with(msv.CE, .7)}, 1, ""}, // on the threshold
		{nil, 2, "no node could rate"},
	} {
		s, why := th.Choose(c.vs)
		if s != c.system || !strings.Contains(why, c.says) {
			t.Errorf("%v: System %d (%s), want %d", c.vs, s, why, c.system)
		}
	}
}

func TestSlots(t *testing.T) {
	calm := msv.Values{.5, .9, .5, .1, .3}
	names := func(r []ensemble.Role) string {
		var s []string
		for _, x := range r {
			s = append(s, x.String()[:3])
		}
		return strings.Join(s, " ")
	}
	for _, c := range []struct {
		n        int
		mean     msv.Values
		conflict float64
		want     string
	}{
		{1, calm, 0, "Dom"}, {2, calm, 0, "Dom Cri"}, {5, calm, 0, "Dom Cri Syn Eva Gen"},
		{7, calm, .1, "Dom Cri Syn Eva Gen Dom Gen"},
		{7, calm, .71, "Dom Cri Syn Eva Gen Cri Cri"},
		{7, calm, .70, "Dom Cri Syn Eva Gen Dom Gen"},
		{8, msv.Values{.5, .9, .81, .1, .76}, .8, "Dom Cri Syn Eva Gen Cri Syn Eva"},
	} {
		if got := names(ensemble.Slots(c.n, c.mean, c.conflict)); got != c.want {
			t.Errorf("%d nodes: %s, want %s", c.n, got, c.want)
		}
	}
}

// state is a scripted self-report.
type state struct {
	ce, em, ci, pi float64
	quick          string
}

func (s state) String() string {
	m := map[string]any{"joy": 20, "curiosity": 30, "quick_answer": s.quick}
	for _, p := range (&msv.Vector{}).Parts() {
		m[p.Key] = map[msv.Dimension]float64{msv.CE: s.ce, msv.EM: s.em, msv.CI: s.ci, msv.PI: s.pi}[p.Dimension]
	}
	b, _ := json.Marshal(m)
	return string(b)
}

func last(r chat.Request) string { return r.Messages[len(r.Messages)-1].Content }

// model is a scripted node: it rates a query by its words and answers in its role.
func model(name string, answer func(system, prompt string) string) chat.Func {
	return chat.Func{Name: name, Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		p := last(r)
		if strings.Contains(p, "quick_answer") {
			s := state{95, 95, 5, 20, "Sacramento"}
			switch {
			case strings.Contains(p, "FFT"):
				s = state{60, 55, 20, 50, "divide and conquer"}
			case strings.Contains(p, "brain"):
				s = state{75, 70, 65, 60, "no"}
			}
			return chat.Reply{Text: "Here: " + s.String()}, nil
		}
		return chat.Reply{Text: answer(r.Messages[0].Content, p)}, nil
	}}
}

func three(answer func(system, prompt string) string) []ensemble.Node {
	var out []ensemble.Node
	for _, n := range []string{"a", "b", "c", "d"} {
		out = append(out, ensemble.Node{Name: n, Model: model(n, answer)})
	}
	return out
}

func answer(t *testing.T, nodes []ensemble.Node, cfg ensemble.Config, q string) ensemble.Result {
	t.Helper()
	e, err := ensemble.New(nodes, cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Answer(t.Context(), ensemble.Query{Text: q})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestSampleQueries: the source's three queries go to Systems 1, 2 and 2.
func TestSampleQueries(t *testing.T) {
	says := func(system, _ string) string {
		return "Text of " + strings.Fields(system)[3] + "\nFinal answer: Sacramento\nCONFIDENCE: 60 CONFLICT: 50"
	}
	for q, want := range map[string]struct {
		system int
		reason string
	}{
		"What is the capital of California?": {1, "CE 95 ≥ 70"},
		"How does the FFT work?":             {2, "CE 60 is below 70"},
		"Do we use 10 % of our brain?":       {2, "conflict CI"},
	} {
		var phases []int
		cfg := ensemble.Default()
		cfg.Observe = func(e ensemble.Event) {
			if !slices.Contains(phases, e.Phase) {
				phases = append(phases, e.Phase)
			}
		}
		res := answer(t, three(says), cfg, q)
		if res.System != want.system || !strings.Contains(res.Reason, want.reason) || res.Text == "" {
			t.Errorf("%s: System %d (%s), text %q", q, res.System, res.Reason, res.Text)
		}
		if fmt.Sprint(phases) != "[1 2 3 4 5]" {
			t.Errorf("%s: phases %v", q, phases)
		}
		roles := map[ensemble.Role]bool{}
		for _, s := range res.States {
			roles[s.Role] = true
		}
		if len(roles) != 4 {
			t.Errorf("%s: roles %v", q, roles)
		}
		sum := 0.
		for _, c := range res.Contributions {
			sum += c.Weight
		}
		near(t, q+": weights", sum, 1)
		if strings.Contains(res.Text, "CONFIDENCE") {
			t.Errorf("%s: the ratings are part of the text: %q", q, res.Text)
		}
	}
}

// TestSequence: each output enriches the next, in the order of roles.
func TestSequence(t *testing.T) {
	var mu sync.Mutex
	var prompts []string
	res := answer(t, three(func(system, prompt string) string {
		mu.Lock()
		defer mu.Unlock()
		prompts = append(prompts, system+"\n"+prompt)
		return fmt.Sprintf("out %d\nCONFIDENCE: 50%%, CONFLICT: 60", len(prompts))
	}), ensemble.Default(), "How does the FFT work?")
	var roles []string
	for _, c := range res.Contributions {
		roles = append(roles, c.Role.String())
	}
	raw, err := json.Marshal(res)
	var back ensemble.Result
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if err != nil || back.Text != res.Text || back.States[1].Role != res.States[1].Role || back.States[0].Values != res.States[0].Values {
		t.Errorf("a result does not survive JSON: %v", err)
	}
	if strings.Join(roles, ", ") != "Domain Expert, Critic, Evaluator, Synthesizer" || res.Text != "out 4" || res.EarlyStop != "" {
		t.Errorf("roles %v, text %q, %s", roles, res.Text, res.EarlyStop)
	}
	for i, p := range prompts {
		for k := range prompts {
			if has := strings.Contains(p, fmt.Sprintf("out %d", k+1)); has != (k < i) {
				t.Errorf("prompt %d sees output %d: %v", i+1, k+1, has)
			}
		}
	}
	if res.Contributions[0].Confidence != 50 || res.Contributions[0].Conflict != 60 {
		t.Errorf("ratings %+v", res.Contributions[0])
	}
	if len(res.History) < 6 {
		t.Errorf("%d snapshots", len(res.History))
	}
	// Topology is fixed, activation is not.
	first, end := res.History[0], res.Graph
	changed := false
	for i, e := range end.Edges {
		if e.Base != first.Edges[i].Base {
			t.Errorf("the base weight of %s → %s changed", e.From, e.To)
		}
		changed = changed || e.Mu != first.Edges[i].Mu
		near(t, "edge", e.Weight, e.Base*e.Mu)
	}
	if !changed {
		t.Error("no activation changed")
	}
}

func TestEarlyStop(t *testing.T) {
	for _, c := range []struct {
		ratings []string
		stages  int
		why     string
	}{
		{[]string{"CONFIDENCE: 90 CONFLICT: 50", "CONFIDENCE: 86 CONFLICT: 50"}, 2, "two confidences"},
		{[]string{"CONFIDENCE: 90 CONFLICT: 50", "CONFIDENCE: 85 CONFLICT: 50", "CONFIDENCE: 90 CONFLICT: 50"}, 4, ""},
		{[]string{"CONFIDENCE: 50 CONFLICT: 5", "CONFIDENCE: 50 CONFLICT: 19"}, 2, "conflict 19"}, // an expert alone has none
		{[]string{"no ratings", "none"}, 4, ""},
	} {
		n := 0
		nodes := three(func(string, string) string {
			n++
			if n <= len(c.ratings) {
				return "text\n" + c.ratings[n-1]
			}
			return "text\nCONFIDENCE: 50 CONFLICT: 50"
		})
		res := answer(t, nodes, ensemble.Default(), "How does the FFT work?")
		if len(res.Contributions) != c.stages || !strings.Contains(res.EarlyStop, c.why) || (c.why == "") != (res.EarlyStop == "") || res.Text == "" {
			t.Errorf("%q: %d stages, stop %q, text %q", c.ratings, len(res.Contributions), res.EarlyStop, res.Text)
		}
	}
}

// TestDisagreement: a high conflict signal asks for a synthesis that shows it.
func TestDisagreement(t *testing.T) {
	shown := false
	res := answer(t, three(func(system, prompt string) string {
		if strings.Contains(system, "Do not force a consensus") {
			shown = strings.Contains(prompt, "weight")
			return "Opinions differ."
		}
		return "An opinion.\nCONFIDENCE: 50 CONFLICT: 70"
	}), ensemble.Default(), "Do we use 10 % of our brain?")
	if !shown || !res.Disagreement || res.Text != "Opinions differ." || !strings.Contains(res.Synthesis, "disagreement") {
		t.Errorf("shown %v: %q (%s)", shown, res.Text, res.Synthesis)
	}
}

// TestVote: in System 1 the answer with the most weight wins, not the loudest node.
func TestVote(t *testing.T) {
	n := 0
	var mu sync.Mutex
	res := answer(t, three(func(string, string) string {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 1 {
			return "Los Angeles\nCONFIDENCE: 99 CONFLICT: 0"
		}
		return "It is Sacramento.\nCONFIDENCE: 80 CONFLICT: 0"
	}), ensemble.Default(), "What is the capital of California?")
	if res.System != 1 || res.Text != "It is Sacramento." {
		t.Errorf("System %d: %q (%s)", res.System, res.Text, res.Synthesis)
	}
}

// TestClusters: beyond five nodes, nodes of a role confer before they speak.
func TestClusters(t *testing.T) {
	var nodes []ensemble.Node
	caucus := 0
	var mu sync.Mutex
	for i := range 8 {
		name := fmt.Sprint("n", i)
		nodes = append(nodes, ensemble.Node{Name: name, Model: chat.Func{Name: name, Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
			if strings.Contains(last(r), "quick_answer") {
				return chat.Reply{Text: state{50 + float64(i), 50, 90, 60, ""}.String()}, nil
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(r.Messages[0].Content, "colleagues") {
				caucus++
				return chat.Reply{Text: "we all say\nCONFIDENCE: 50 CONFLICT: 50"}, nil
			}
			return chat.Reply{Text: "I say\nCONFIDENCE: 50 CONFLICT: 50"}, nil
		}}})
	}
	res := answer(t, nodes, ensemble.Default(), "Why?")
	if caucus != 1 || res.Contributions[1].Role != ensemble.Critic || res.Contributions[1].Cluster != 4 || res.Contributions[1].Text != "we all say" {
		t.Errorf("%d caucuses, %+v", caucus, res.Contributions)
	}
	if n := len(res.History[0].Clusters["Critic"]); n != 4 {
		t.Errorf("%d critics in the cluster", n)
	}
}

// TestMeasured: instruments fill the measured channels; self-reports stay.
func TestMeasured(t *testing.T) {
	cfg := ensemble.Default()
	cfg.Embedder, cfg.Memory = letters{}, []string{"zzz", "capital of california"}
	cfg.Judge = deliberate.JudgeFunc(func(_ context.Context, _ string, c []deliberate.Candidate) (deliberate.Verdict, error) {
		v := deliberate.Verdict{}
		for range c {
			v.Scores = append(v.Scores, .25)
		}
		return v, nil
	})
	res := answer(t, three(func(string, string) string { return "x" }), cfg, "What is the capital of California?")
	v := res.States[0].Vector
	if v.Facts.Measured == nil || *v.Facts.Measured != .25 || v.Facts.Self != .95 || v.Facts.By != "judge" {
		t.Errorf("CE: %+v", v.Facts)
	}
	if v.Sources.Measured == nil || *v.Sources.Measured != 0 {
		t.Errorf("CI: %+v", v.Sources)
	}
	if v.Knowledge.Measured == nil || *v.Knowledge.Measured < .5 || *v.Knowledge.Measured >= .999 {
		t.Errorf("EM: %+v", v.Knowledge)
	}
	cfg.Judge = deliberate.JudgeFunc(func(context.Context, string, []deliberate.Candidate) (deliberate.Verdict, error) {
		return deliberate.Verdict{}, errors.New("away")
	})
	notes := 0
	cfg.Observe = func(e ensemble.Event) {
		if e.Kind == "note" && strings.Contains(e.Note, "away") {
			notes++
		}
	}
	if res = answer(t, three(func(string, string) string { return "x" }), cfg, "2+2?"); res.States[0].Vector.Facts.Measured != nil || notes != 1 {
		t.Errorf("a judge that is away: %+v, %d notes", res.States[0].Vector.Facts, notes)
	}
}

// letters embeds a text by its letters.
type letters struct{}

func (letters) Dim() int     { return 26 }
func (letters) Hash() string { return "letters" }
func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		v, n := make([]float32, 26), 0.
		for _, r := range strings.ToLower(s) {
			if r >= 'a' && r <= 'z' {
				v[r-'a']++
			}
		}
		for _, x := range v {
			n += float64(x) * float64(x)
		}
		for k := range v {
			v[k] /= float32(math.Sqrt(n))
		}
		out[i] = v
	}
	return out, nil
}

// TestRetriesWithFeedback: an unreadable rating is asked for again, with the error;
// in the end the node goes on without one.
func TestRetriesWithFeedback(t *testing.T) {
	tries := 0
	m := chat.Func{Name: "m", Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
		if !strings.Contains(r.Messages[0].Content, "quick_answer") {
			return chat.Reply{Text: "four"}, nil
		}
		tries++
		if tries == 2 && !strings.Contains(last(r), "no JSON object") {
			t.Errorf("no feedback: %q", last(r))
		}
		if tries == 3 {
			return chat.Reply{Text: state{90, 90, 5, 5, "4"}.String()}, nil
		}
		return chat.Reply{Text: "I can't do that."}, nil
	}}
	res := answer(t, []ensemble.Node{{Name: "m", Model: m}}, ensemble.Default(), "2+2?")
	if tries != 3 || !res.States[0].Rated || res.System != 1 {
		t.Errorf("%d tries: %+v", tries, res.States[0])
	}
	tries = -9
	if res = answer(t, []ensemble.Node{{Name: "m", Model: m}}, ensemble.Default(), "2+2?"); res.States[0].Rated || res.System != 2 || res.Text != "four" {
		t.Errorf("never readable: %+v, System %d, %q", res.States[0], res.System, res.Text)
	}
}

func TestLostNodes(t *testing.T) {
	broken := chat.Func{Name: "broken", Reply: func(context.Context, chat.Request) (chat.Reply, error) {
		return chat.Reply{}, errors.New("out of order")
	}}
	nodes := three(func(string, string) string { return "text\nCONFIDENCE: 50 CONFLICT: 50" })
	nodes[1].Model = broken
	for _, q := range []string{"What is the capital of California?", "How does the FFT work?"} {
		res := answer(t, nodes, ensemble.Default(), q)
		lost := 0
		for _, c := range res.Contributions {
			if c.Error != "" {
				lost++
			}
		}
		if res.Text != "text" || lost != 1 || res.States[1].Rated {
			t.Errorf("%s: %q, %d lost", q, res.Text, lost)
		}
	}
	for i := range nodes {
		nodes[i].Model = broken
	}
	e, _ := ensemble.New(nodes, ensemble.Default())
	if _, err := e.Answer(t.Context(), ensemble.Query{Text: "?"}); !errors.Is(err, ensemble.ErrNoNode) || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("nobody left: %v", err)
	}
}

func TestNewNamesAllProblems(t *testing.T) {
	cfg := ensemble.Default()
	cfg.Thresholds.CE, cfg.Graph.Tau, cfg.MaxTokens, cfg.Memory = 170, 0, 0, []string{"x"}
	_, err := ensemble.New([]ensemble.Node{{Name: "a"}}, cfg)
	for _, s := range []string{"thresholds.ce", "tau", "max_tokens", "embedder", "needs a model"} {
		if err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%q is not named in %v", s, err)
		}
	}
}

// TestFaults: every known fault of a server, in both systems: an answer or one clear
// error, and nothing left behind.
func TestFaults(t *testing.T) {
	for _, f := range llmtest.Faults() {
		for system, rating := range map[int]state{1: {95, 95, 5, 5, "4"}, 2: {40, 95, 5, 5, "4"}} {
			for _, all := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %s/system %d/all=%t", f.ID, f.Name, system, all), func(t *testing.T) {
					reply := func(r llmtest.Request) llmtest.Reply {
						if strings.Contains(r.Prompt(), "quick_answer") || strings.Contains(r.Prompt(), "JSON object") {
							return llmtest.Reply{Text: rating.String()}
						}
						return llmtest.Reply{Text: "Four.\nCONFIDENCE: 50 CONFLICT: 50"}
					}
					s := llmtest.New(t, reply)
					s.Break(f, func(n int) bool { return all || n%3 == 1 })
					o := s.Options("m")
					if f.Waits {
						o = llmtest.Impatient(o)
					}
					d, err := openai.NewDialog(o)
					if err != nil {
						t.Fatal(err)
					}
					defer d.Close()
					cfg := ensemble.Default()
					cfg.Retries = 1
					e, err := ensemble.New([]ensemble.Node{{"a", d}, {"b", d}, {"c", d}}, cfg)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					res, err := e.Answer(ctx, ensemble.Query{Text: "2+2?"})
					switch {
					case ctx.Err() != nil:
						t.Fatal("it hangs")
					case err == nil && (!strings.HasSuffix(res.Text, "Four.") || f.Want == llmtest.Fails && all):
						t.Errorf("got %q", res.Text)
					case err != nil && (f.Want == llmtest.Answers || !strings.Contains(err.Error(), s.URL) || strings.Contains(err.Error(), "\n")):
						t.Errorf("got %v", err)
					}
				})
			}
		}
	}
	llmtest.NoLeaks(t)
}

func Example() {
	node := func(name string) ensemble.Node {
		return ensemble.Node{Name: name, Model: chat.Func{Name: name, Reply: func(_ context.Context, r chat.Request) (chat.Reply, error) {
			if strings.Contains(last(r), "quick_answer") {
				return chat.Reply{Text: state{95, 90, 5, 20, "Sacramento"}.String()}, nil
			}
			return chat.Reply{Text: "Sacramento\nCONFIDENCE: 99 CONFLICT: 0"}, nil
		}}}
	}
	e, err := ensemble.New([]ensemble.Node{node("a"), node("b")}, ensemble.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := e.Answer(context.Background(), ensemble.Query{Text: "What is the capital of California?"})
	fmt.Println(res.Text, err)
	fmt.Printf("System %d: %s\n", res.System, res.Reason)
	// Output:
	// Sacramento <nil>
	// System 1: CE 95 ≥ 70, EM 90 ≥ 50, CI 3 ≤ 40, PI 20 ≤ 75
}
