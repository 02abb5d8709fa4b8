package ensemble

import (
	"errors"
	"fmt"
	"math"

	"github.com/muse-agent/muse/selfassess/msv"
)

// Control holds the parameters of the control graph.
type Control struct {
	// Alpha weighs the source node's state in the activation of its edges (ER, CE, EM,
	// CI, PI): a confident node without conflict speaks louder.
	Alpha msv.Values `json:"alpha"`
	Tau   float64    `json:"tau"` // temperature of the sigmoid
	// Near and Far are base weights: of edges along the order of roles, and of others.
	Near float64 `json:"near"`
	Far  float64 `json:"far"`
	// Quiet is the weight below which an edge carries nothing.
	Quiet float64 `json:"quiet"`
	// Switch is the probability that a role change must exceed to happen; 1 = never.
	Switch float64 `json:"switch"`
	// Shift holds w(r, r′), the weights of the state in the change from r to r′.
	Shift [Roles][Roles]msv.Values `json:"shift"`
}

// DefaultControl returns the source's examples where it gives any: base weights 1 and
// .5, and Critic → Domain Expert with CE .4 and CI .1. The rest is ours.
func DefaultControl() Control {
	c := Control{Alpha: msv.Values{.1, .5, .2, -.5, .1}, Tau: .5, Near: 1, Far: .5, Quiet: .2, Switch: .5}
	to := [Roles]msv.Values{
		Expert:      {.1, .4, .3, .1, .1},
		Critic:      {.1, .1, .1, .5, .2},
		Evaluator:   {.1, .2, .1, .2, .4},
		Synthesizer: {.2, .2, .4, .1, .1},
		Generalist:  {.2, .2, .2, .2, .2},
	}
	for r := range Roles {
		for s := range Roles {
			c.Shift[r][s] = to[s]
			if r == s { // staying is the rule
				for k := range c.Shift[r][s] {
					c.Shift[r][s][k] += .2
				}
			}
		}
	}
	return c
}

// Validate reports all problems at once, or nil.
func (c Control) Validate() error {
	var errs []error
	if !(c.Tau > 0) {
		errs = append(errs, fmt.Errorf("ensemble: graph.tau is %v; it must be above 0", c.Tau))
	}
	for _, p := range []struct {
		name string
		v    float64
	}{{"near", c.Near}, {"far", c.Far}, {"quiet", c.Quiet}, {"switch", c.Switch}} {
		if !(p.v >= 0 && p.v <= 1) {
			errs = append(errs, fmt.Errorf("ensemble: graph.%s is %v; it must lie between 0 and 1", p.name, p.v))
		}
	}
	return errors.Join(errs...)
}

// Sigmoid is σ(x) = 1 / (1 + e^(−x/τ)).
func Sigmoid(x, tau float64) float64 { return 1 / (1 + math.Exp(-x/tau)) }

// Activation is μ of a state: how loudly its node speaks.
func (c Control) Activation(v msv.Values) float64 { return Sigmoid(v.Dot(c.Alpha), c.Tau) }

// Transition is P(r′ | r, M): a softmax over the target roles.
func (c Control) Transition(r Role, v msv.Values) [Roles]float64 {
	var p [Roles]float64
	top := math.Inf(-1)
	for s := range p {
		p[s] = v.Dot(c.Shift[r][s])
		top = max(top, p[s])
	}
	sum := 0.
	for s := range p {
		p[s] = math.Exp(p[s] - top)
		sum += p[s]
	}
	for s := range p {
		p[s] /= sum
	}
	return p
}

// Edge of a snapshot.
type Edge struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Base   float64 `json:"base"`
	Mu     float64 `json:"mu"`
	Weight float64 `json:"weight"` // Base × Mu
}

// Snapshot is the graph at one time.
type Snapshot struct {
	When  string            `json:"when"`
	Roles map[string]string `json:"roles"`
	Edges []Edge            `json:"edges"`
	// Shifts holds each node's probabilities of its next role.
	Shifts map[string][Roles]float64 `json:"shifts"`
	// Clusters are nodes of equal role, beyond five nodes.
	Clusters map[string][]string `json:"clusters,omitempty"`
}

// graph has a topology fixed at the start; only states, roles and with them the
// activations change.
type graph struct {
	c    Control
	base [][]float64
}

// order of the sequential run; a generalist stands beside it.
var order = []Role{Expert, Critic, Evaluator, Synthesizer}

func position(r Role) int {
	for i, o := range order {
		if o == r {
			return i
		}
	}
	return -1
}

// newGraph connects all nodes; neighbours in the order of roles, and nodes of one
// role, are near.
func newGraph(states []State, c Control) *graph {
	g := &graph{c: c, base: make([][]float64, len(states))}
	for i, a := range states {
		g.base[i] = make([]float64, len(states))
		for j, b := range states {
			if i == j {
				continue
			}
			g.base[i][j] = c.Far
			p, q := position(a.Role), position(b.Role)
			if a.Role == b.Role || p >= 0 && q == p+1 {
				g.base[i][j] = c.Near
			}
		}
	}
	return g
}

// weight of the edge from i to j: base × μ(M_i).
func (g *graph) weight(states []State, i, j int) float64 {
	return g.base[i][j] * g.c.Activation(states[i].Values)
}

func (g *graph) snapshot(when string, states []State) Snapshot {
	s := Snapshot{When: when, Roles: map[string]string{}, Shifts: map[string][Roles]float64{}}
	members := map[string][]string{}
	for i, a := range states {
		s.Roles[a.Node] = a.Role.String()
		s.Shifts[a.Node] = g.c.Transition(a.Role, a.Values)
		members[a.Role.String()] = append(members[a.Role.String()], a.Node)
		for j, b := range states {
			if i != j {
				s.Edges = append(s.Edges, Edge{a.Node, b.Node, g.base[i][j], g.c.Activation(a.Values), g.weight(states, i, j)})
			}
		}
	}
	if len(states) > 5 {
		s.Clusters = map[string][]string{}
		for role, m := range members {
			if len(m) > 1 {
				s.Clusters[role] = m
			}
		}
	}
	return s
}

// snapshot keeps the graph's state in the history.
func (r *run) snapshot(when string) {
	s := r.graph.snapshot(when, r.res.States)
	r.res.History = append(r.res.History, s)
	r.res.Graph = s
}
