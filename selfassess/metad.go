package selfassess

import (
	"encoding/json"
	"errors"
	"math"
	"sort"
)

// MetaD is a meta-d′ analysis (Maniscalco & Lau 2012): how much of the
// sensitivity of the decisions the confidence has access to.
type MetaD struct {
	Estimable bool    `json:"estimable"`
	Why       string  `json:"why,omitempty"` // if not estimable: the reason
	DPrime    float64 `json:"d_prime"`       // type-1 sensitivity
	Criterion float64 `json:"criterion"`
	MetaD     float64 `json:"meta_d"`
	MRatio    float64 `json:"m_ratio"` // meta-d′ / d′
	MDiff     float64 `json:"m_diff"`  // meta-d′ − d′
	LogLik    float64 `json:"log_likelihood"`
	Errors    int     `json:"errors"` // wrong decisions
}

// MarshalJSON writes null for numbers that are not defined, as JSON has no NaN.
func (m MetaD) MarshalJSON() ([]byte, error) {
	type plain MetaD
	return json.Marshal(struct {
		plain
		DPrime    *float64 `json:"d_prime"`
		Criterion *float64 `json:"criterion"`
		MetaD     *float64 `json:"meta_d"`
		MRatio    *float64 `json:"m_ratio"`
		MDiff     *float64 `json:"m_diff"`
		LogLik    *float64 `json:"log_likelihood"`
	}{plain(m), finite(m.DPrime), finite(m.Criterion), finite(m.MetaD), finite(m.MRatio), finite(m.MDiff), finite(m.LogLik)})
}

// Limits below which M-ratio explodes and is not reported (Fleming & Lau 2014).
const (
	metaMinErrors = 20
	metaMinDPrime = 0.5
	metaRatings   = 4 // confidence levels made from continuous confidence
)

// MetaDFromCounts fits meta-d′ by maximum likelihood. s1 and s2 are counts of
// responses to the two stimuli (failure, success), each 2K long: response 1 with
// confidence K … 1, then response 2 with confidence 1 … K. pad adds 1/(2K) to
// every cell, as metadpy does to avoid empty cells.
func MetaDFromCounts(s1, s2 []float64, pad bool) (MetaD, error) {
	k := len(s1) / 2
	if len(s1) != len(s2) || len(s1)%2 != 0 || k < 2 {
		return MetaD{}, errors.New("selfassess: meta-d′ needs two equally long lists of 2K counts, K ≥ 2")
	}
	f := metaFit{k: k, s1: append([]float64(nil), s1...), s2: append([]float64(nil), s2...)}
	if pad {
		for i := range f.s1 {
			f.s1[i] += 1 / float64(2*k)
			f.s2[i] += 1 / float64(2*k)
		}
	}
	m := f.fit()
	for i := range k {
		m.Errors += int(s1[2*k-1-i] + s2[i])
	}
	switch {
	case math.IsNaN(m.DPrime) || math.IsInf(m.DPrime, 0):
		m = MetaD{Why: "d′ is not finite", Errors: m.Errors}
	case m.Errors < metaMinErrors:
		m.Why = "fewer than 20 wrong decisions"
	case math.Abs(m.DPrime) < metaMinDPrime:
		m.Why = "d′ below 0.5"
	default:
		m.Estimable = true
	}
	return m, nil
}

type metaFit struct {
	k      int
	s1, s2 []float64
	d, c   float64
}

func phi(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

func phiInv(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// fit starts at meta-d′ = d′ with the criteria of the rating ROC and runs
// Nelder–Mead on (meta-d′, log gaps between criteria).
func (f *metaFit) fit() MetaD {
	k := f.k
	n1, n2 := total(f.s1), total(f.s2)
	crit := make([]float64, 2*k-1) // 2K−1 boundaries between cells, in d′ units
	var a1, a2 float64
	for i := range crit {
		a1 += f.s1[i]
		a2 += f.s2[i]
		z1, z2 := phiInv(a1/n1), phiInv(a2/n2) // 1 − false alarms, 1 − hits
		crit[i] = (z1 + z2) / 2
		if i == k-1 {
			f.d, f.c = z1-z2, (z1+z2)/2
		}
	}
	x := make([]float64, 2*k-1)
	x[0] = f.d
	for i := range k - 1 { // gaps going out from the type-1 criterion, below and above
		x[1+i] = math.Log(max(crit[k-1-i]-crit[k-2-i], 1e-3))
		x[k+i] = math.Log(max(crit[k+i]-crit[k-1+i], 1e-3))
	}
	var best []float64
	val := math.Inf(1)
	for _, start := range []float64{f.d, f.d / 2, 0.1} { // restarts: the surface has flat parts
		p := append([]float64(nil), x...)
		p[0] = start
		for range 3 {
			p, _ = nelderMead(f.negLogLik, p, 0.3, 4000)
		}
		if v := f.negLogLik(p); v < val-1e-9 {
			best, val = p, v
		}
	}
	if best == nil {
		return MetaD{DPrime: math.NaN()}
	}
	return MetaD{DPrime: f.d, Criterion: f.c, MetaD: best[0], MRatio: best[0] / f.d, MDiff: best[0] - f.d, LogLik: -val}
}

// negLogLik is −Σ counts·ln P(rating | response, stimulus) for Gaussians at
// ±meta-d′/2 with the type-1 criterion fixed at meta-c = meta-d′·c/d′.
func (f *metaFit) negLogLik(x []float64) float64 {
	k, md := f.k, x[0]
	if math.Abs(md) > 10 {
		return 1e12 + math.Abs(md)
	}
	mc := 0.0
	if f.d != 0 {
		mc = md * f.c / f.d
	}
	low, high := make([]float64, k), make([]float64, k) // boundaries going out; [0] = mc
	low[0], high[0] = mc, mc
	for i := 1; i < k; i++ {
		low[i] = low[i-1] - math.Exp(x[i])
		high[i] = high[i-1] + math.Exp(x[k-1+i])
	}
	sum := 0.0
	for s, counts := range [2][]float64{f.s1, f.s2} {
		mu := md * (float64(s) - 0.5)
		all1, all2 := phi(mc-mu), phi(mu-mc)
		for i := range k { // confidence i+1
			p1, p2 := phi(low[i]-mu), phi(mu-high[i])
			if i < k-1 {
				p1 -= phi(low[i+1] - mu)
				p2 -= phi(mu - high[i+1])
			}
			for _, t := range [2][2]float64{{counts[k-1-i], p1 / all1}, {counts[k+i], p2 / all2}} {
				if t[0] > 0 {
					sum -= t[0] * math.Log(max(t[1], 1e-300))
				}
			}
		}
	}
	if math.IsNaN(sum) {
		return 1e13
	}
	return sum
}

func total(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

// nelderMead minimises f from x with the usual coefficients (1, 2, ½, ½).
func nelderMead(f func([]float64) float64, x []float64, step float64, evals int) ([]float64, float64) {
	n := len(x)
	type vertex struct {
		x []float64
		v float64
	}
	s := make([]vertex, n+1)
	for i := range s {
		p := append([]float64(nil), x...)
		if i > 0 {
			p[i-1] += step
		}
		s[i] = vertex{p, f(p)}
	}
	at := func(c []float64, t float64) vertex { // c + t(worst − c)
		p := make([]float64, n)
		for j := range p {
			p[j] = c[j] + t*(s[n].x[j]-c[j])
		}
		return vertex{p, f(p)}
	}
	for used := n + 1; used < evals; {
		sort.SliceStable(s, func(a, b int) bool { return s[a].v < s[b].v })
		if s[n].v-s[0].v < 1e-12*(1+math.Abs(s[0].v)) {
			break
		}
		c := make([]float64, n)
		for _, q := range s[:n] {
			for j := range c {
				c[j] += q.x[j] / float64(n)
			}
		}
		r := at(c, -1)
		used++
		switch {
		case r.v < s[0].v:
			if e := at(c, -2); e.v < r.v {
				r = e
			}
			used++
			s[n] = r
		case r.v < s[n-1].v:
			s[n] = r
		default:
			t := 0.5
			if r.v < s[n].v {
				t = -0.5
			}
			q := at(c, t)
			used++
			if q.v < min(r.v, s[n].v) {
				s[n] = q
				continue
			}
			for i := 1; i <= n; i++ { // shrink
				for j := range s[i].x {
					s[i].x[j] = (s[i].x[j] + s[0].x[j]) / 2
				}
				s[i].v = f(s[i].x)
			}
			used += n
		}
	}
	sort.SliceStable(s, func(a, b int) bool { return s[a].v < s[b].v })
	return s[0].x, s[0].v
}
