package ensemble

import (
	"context"
	"math"

	"github.com/muse-agent/muse/selfassess/msv"
)

// fitness weighs a state for a role; the entries are ER, CE, EM, CI, PI of the node,
// negative ones count the complement. The source leaves the scores open; ours follow
// its examples: experts are sure and familiar, critics see conflict, evaluators feel
// the importance, synthesizers are familiar and calm about conflict.
var fitness = [Roles]msv.Values{
	Expert:      {0, .6, .4, 0, 0},
	Critic:      {-.1, -.2, 0, .7, 0},
	Evaluator:   {0, .2, 0, -.2, .6},
	Synthesizer: {.3, 0, .4, -.3, 0},
	Generalist:  {.2, .2, .2, -.2, .2},
}

// Fitness of a state for a role, in [0,1].
func Fitness(r Role, v msv.Values) float64 {
	s := 0.
	for k, w := range fitness[r] {
		if w < 0 {
			s -= w * (1 - v[k])
		} else {
			s += w * v[k]
		}
	}
	return s
}

// Demands beyond five nodes: levels of the means (0 to 100) above which a role gets
// more nodes.
const (
	criticDemand      = 70. // CI
	synthesizerDemand = 80. // EM
	evaluatorDemand   = 75. // PI
)

// Slots are the roles to be filled by n nodes, in the order of their need. Up to
// five nodes each role is there once; beyond, the state of the ensemble asks for
// more critics, synthesizers or evaluators, else for experts and generalists.
func Slots(n int, mean msv.Values, conflict float64) []Role {
	byNeed := []Role{Expert, Critic, Synthesizer, Evaluator, Generalist}
	if n <= len(byNeed) {
		return byNeed[:max(n, 0)]
	}
	var extra []Role
	if 100*conflict > criticDemand {
		extra = append(extra, Critic)
	}
	if 100*mean[msv.EM] > synthesizerDemand {
		extra = append(extra, Synthesizer)
	}
	if 100*mean[msv.PI] > evaluatorDemand {
		extra = append(extra, Evaluator)
	}
	if len(extra) == 0 {
		extra = []Role{Expert, Generalist}
	}
	out := append([]Role(nil), byNeed...)
	for i := 0; len(out) < n; i++ {
		out = append(out, extra[i%len(extra)])
	}
	return out
}

// assign is phase 2: nodes to slots with the largest total fitness. Nodes without a
// rating are taken for average ones.
func (r *run) assign(context.Context) error {
	vs, _ := r.rated()
	mean := msv.Mean(vs)
	conflict := 0.
	if len(vs) > 0 {
		conflict = msv.Conflict(vs)
	}
	slots := Slots(len(r.nodes), mean, conflict)
	cost := make([][]float64, len(r.nodes))
	for i, s := range r.res.States {
		v := s.Values
		if !s.Rated {
			v = mean
		}
		cost[i] = make([]float64, len(slots))
		for k, role := range slots {
			cost[i][k] = -Fitness(role, v)
		}
	}
	for i, k := range Assign(cost) {
		r.res.States[i].Role = slots[k]
	}
	r.graph = newGraph(r.res.States, r.cfg.Graph)
	r.snapshot("roles assigned")
	c := r.res
	r.event(Event{Phase: 2, Kind: "roles", Result: &c})
	return nil
}

// Assign solves the assignment problem: it returns for each row of a square or wide
// cost matrix the column that it gets, so that the sum is least and no column is
// given twice. Hungarian algorithm with potentials, O(n² m). It panics on a matrix
// with more rows than columns.
func Assign(cost [][]float64) []int {
	n := len(cost)
	if n == 0 {
		return nil
	}
	m := len(cost[0])
	if n > m {
		panic("ensemble: more rows than columns to assign")
	}
	// Rows and columns count from 1; column 0 stands for "the row being placed".
	u, v := make([]float64, n+1), make([]float64, m+1)
	row, way := make([]int, m+1), make([]int, m+1)
	for i := 1; i <= n; i++ {
		row[0] = i
		at := 0
		least := make([]float64, m+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		used := make([]bool, m+1)
		for row[at] != 0 {
			used[at] = true
			delta, next := math.Inf(1), 0
			for j := 1; j <= m; j++ {
				if used[j] {
					continue
				}
				if c := cost[row[at]-1][j-1] - u[row[at]] - v[j]; c < least[j] {
					least[j], way[j] = c, at
				}
				if least[j] < delta {
					delta, next = least[j], j
				}
			}
			for j := 0; j <= m; j++ {
				if used[j] {
					u[row[j]] += delta
					v[j] -= delta
				} else {
					least[j] -= delta
				}
			}
			at = next
		}
		for at != 0 { // turn the path around
			row[at] = row[way[at]]
			at = way[at]
		}
	}
	out := make([]int, n)
	for j := 1; j <= m; j++ {
		if row[j] != 0 {
			out[row[j]-1] = j - 1
		}
	}
	return out
}
