package logs

import (
	"gonum.org/v1/gonum/mat"
)

// Stack turns the logits of the parts into one probability:
// P = σ(Σ W[i]·logit[i] + B), fitted on predictions for held-out folds. It weighs the
// parts and calibrates in one.
type Stack struct {
	W []float64 `json:"w"`
	B float64   `json:"b"`
}

// Apply returns the probability for the parts' logits.
func (s Stack) Apply(z []float64) float64 {
	v := s.B
	for i, w := range s.W {
		v += w * z[i]
	}
	return sigmoid(v)
}

// fitStack is weighted logistic regression by Newton's method with a weak prior at the
// mean of the parts, which keeps separable rows finite. z is (parts, rows).
func fitStack(z [][]float64, y, w []float64) Stack {
	k := len(z)
	s := Stack{W: make([]float64, k)}
	for i := range s.W {
		s.W[i] = 1 / float64(k)
	}
	prior := append([]float64(nil), s.W...)
	x, col := make([]float64, k+1), make([]float64, k)
	x[k] = 1
	for range 30 {
		g, h := mat.NewVecDense(k+1, nil), mat.NewSymDense(k+1, nil)
		for i := range k {
			g.SetVec(i, s.W[i]-prior[i])
			h.SetSym(i, i, 1)
		}
		g.SetVec(k, s.B)
		h.SetSym(k, k, 1)
		for r := range y {
			for i := range k {
				x[i] = z[i][r]
				col[i] = x[i]
			}
			p := s.Apply(col)
			d, v := w[r]*(p-y[r]), w[r]*p*(1-p)
			for i := range x {
				g.SetVec(i, g.AtVec(i)+d*x[i])
				for j := i; j <= k; j++ {
					h.SetSym(i, j, h.At(i, j)+v*x[i]*x[j])
				}
			}
		}
		var c mat.Cholesky
		var step mat.VecDense
		if !c.Factorize(h) || c.SolveVecTo(&step, g) != nil {
			break // the prior makes h positive definite; only overflow gets here
		}
		size := mat.Norm(&step, 2)
		scale := 1 / max(1, size) // damped: never moves by more than 1
		for i := range k {
			s.W[i] -= scale * step.AtVec(i)
		}
		s.B -= scale * step.AtVec(k)
		if size < 1e-8 {
			break
		}
	}
	return s
}

// stackRows fits one stack for each fold on the other folds' rows and applies it, and
// returns the one of all rows.
func stackRows(rows []Row, z [][]float64, fold []int) (p []float64, all Stack) {
	y, w := make([]float64, len(rows)), make([]float64, len(rows))
	top := 0
	for i := range rows {
		y[i], w[i] = rows[i].Label(), rows[i].N
		top = max(top, fold[i])
	}
	pick := func(keep func(int) bool) (zz [][]float64, yy, ww []float64) {
		zz = make([][]float64, len(z))
		for i := range rows {
			if keep(i) {
				yy, ww = append(yy, y[i]), append(ww, w[i])
				for m := range z {
					zz[m] = append(zz[m], z[m][i])
				}
			}
		}
		return zz, yy, ww
	}
	p = make([]float64, len(rows))
	one := make([]float64, len(z))
	for k := 0; k <= top; k++ {
		s := fitStack(pick(func(i int) bool { return fold[i] != k }))
		for i := range rows {
			if fold[i] == k {
				for m := range z {
					one[m] = z[m][i]
				}
				p[i] = s.Apply(one)
			}
		}
	}
	return p, fitStack(z, y, w)
}
