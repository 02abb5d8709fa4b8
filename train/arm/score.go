package arm

import (
	"github.com/muse-agent/muse/envs/gridarm"
	"github.com/muse-agent/muse/selfassess"
	"github.com/muse-agent/muse/worldmodel"
)

// taskScore collects the outcomes of one task, and Σψ at every observation.
type taskScore struct {
	episodes []outcome
}

// outcome is one episode as figures need it.
type outcome struct {
	Won    bool      `json:"won"`
	Last   bool      `json:"last"`
	Time   int       `json:"time"` // decision of the first success, the limit for a failure
	Return float64   `json:"return"`
	Psi    []float64 `json:"psi"` // Σψ/N at each observation at which the agent acts
}

// play plays an episode and keeps its outcome.
func (s *taskScore) play(p *player, w *gridarm.World, seed uint64) (Episode, error) {
	var o outcome
	e, err := p.play(w, seed, func(st worldmodel.Step, sum float64) error {
		o.Return += float64(st.Reward)
		if n := len(p.psi); n > 0 && !st.Last {
			o.Psi = append(o.Psi, sum/float64(n))
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	o.Won, o.Last, o.Time = e.Success, e.Last, e.SolvedAt
	if !o.Won {
		o.Time = limit
	}
	s.episodes = append(s.episodes, o)
	return e, nil
}

func (s *taskScore) point(name string) TaskPoint {
	p := TaskPoint{Task: name}
	n := float64(len(s.episodes))
	for _, e := range s.episodes {
		p.Success += is(e.Won) / n
		p.Last += is(e.Last) / n
		p.Time += float64(e.Time) / n
		p.Return += e.Return / n
	}
	return p
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// steps are label and Σψ/N of every step.
func (s *taskScore) steps() (y, p []float64) {
	for _, e := range s.episodes {
		for _, v := range e.Psi {
			y, p = append(y, is(e.Won)), append(p, v)
		}
	}
	return y, p
}

// mixed reports whether both outcomes occur.
func mixed(y []float64) bool {
	for _, v := range y {
		if v != y[0] {
			return true
		}
	}
	return false
}

// macroAUROC is the mean over the tasks with both outcomes; 0 if there is none.
func macroAUROC(ss []taskScore) float64 {
	sum, n := 0.0, 0.0
	for i := range ss {
		if y, p := ss[i].steps(); mixed(y) {
			sum += selfassess.AUROC(y, p)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// addMetrics adds the losses of an update to a sum.
func addMetrics(s *worldmodel.Metrics, m worldmodel.Metrics) {
	s.Update = m.Update
	for i, p := range lossesOf(s) {
		*p += *lossesOf(&m)[i]
	}
}

// divideMetrics makes means of n sums.
func divideMetrics(s *worldmodel.Metrics, n int) {
	for _, p := range lossesOf(s) {
		*p /= float64(max(n, 1))
	}
}

func lossesOf(m *worldmodel.Metrics) []*float64 {
	return []*float64{&m.Loss, &m.Reconstruction, &m.Reward, &m.Continue, &m.Psi, &m.KL, &m.Actor, &m.Critic, &m.Entropy, &m.Imitation, &m.Return, &m.Value, &m.Range, &m.GradNorm}
}
