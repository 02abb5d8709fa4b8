package selfassess

import (
	"context"
	"fmt"
	"math"

	"github.com/muse-agent/muse/internal/rng"
)

// matrix are rows ready for the head.
type matrix struct {
	in   int
	x    []float32 // (rows, in), raw
	y, w []float64 // (rows)
}

func (m matrix) row(i int) []float32 { return m.x[i*m.in : (i+1)*m.in] }

// FitReport is the course of one training run.
type FitReport struct {
	Rows      int       `json:"rows"`                // trained on
	Held      int       `json:"held"`                // rows of held-out tasks for early stopping
	Best      int       `json:"best"`                // epoch whose weights were kept, from 1
	Loss      []float64 `json:"loss"`                // mean training loss of each epoch
	HeldLoss  []float64 `json:"held_loss,omitempty"` // after each epoch
	StartLoss float64   `json:"start_loss"`          // of the first batch, before any update
}

// fitPlan are the settings of one run of the optimiser.
type fitPlan struct {
	epochs, patience, batch int
	lr, decay               float64
	seed                    uint64
}

// minGain is the fall of the held loss, in nats, that patience waits for; smaller
// gains are kept but do not prolong the training.
const minGain = 1e-3

// fit trains head in place on the rows train of m. With held rows it stops early
// and keeps the weights with the lowest held loss. Equal arguments give equal
// bytes, whatever GOMAXPROCS is.
func fit(ctx context.Context, head *mlp, m matrix, train, held []int, p fitPlan) (FitReport, error) {
	rep := FitReport{Rows: len(train), Held: len(held)}
	batch := min(p.batch, len(train))
	g, err := newGraph(head.in, head.hidden, batch, [4][]float32{head.w1, head.b1, head.w2, head.b2})
	if err != nil {
		return rep, err
	}
	defer g.close()
	opt := newAdamW(head.params(), p.lr, p.decay)
	best, lowest := head.clone(), math.Inf(1)
	mark, since := math.Inf(1), 0 // last held loss that counts as progress, and epochs since
	order := make([]int, len(train))
	for e := range p.epochs {
		copy(order, train)
		r := rng.New(p.seed, "epoch", e)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		sum, weight := 0.0, 0.0
		for at := 0; at < len(order); at += batch {
			if err := ctx.Err(); err != nil {
				return rep, fmt.Errorf("selfassess: training stopped: %w", err)
			}
			rows := order[at:min(at+batch, len(order))]
			bw := 0.0
			cost, grads, err := g.run(len(rows), func(i int, x []float32) (y, w float32) {
				k := rows[i]
				head.standardise(x, m.row(k))
				bw += m.w[k]
				return float32(m.y[k]), float32(m.w[k])
			})
			if err != nil {
				return rep, err
			}
			if e == 0 && at == 0 {
				rep.StartLoss = float64(cost)
			}
			sum += float64(cost) * bw
			weight += bw
			opt.update(head.params(), grads)
		}
		rep.Loss = append(rep.Loss, sum/weight)
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			return rep, fmt.Errorf("selfassess: the loss is not finite in epoch %d; lower the learning rate (%g) or look for non-finite inputs", e+1, p.lr)
		}
		if len(held) == 0 {
			rep.Best = e + 1
			continue
		}
		loss := lossOf(head, m, held)
		rep.HeldLoss = append(rep.HeldLoss, loss)
		if loss < lowest {
			lowest, rep.Best = loss, e+1
			for i, s := range head.params() {
				copy(best.params()[i], s)
			}
		}
		if loss < mark-minGain {
			mark, since = loss, 0
		} else if since++; since >= p.patience {
			break
		}
	}
	if len(held) > 0 {
		for i, s := range best.params() {
			copy(head.params()[i], s)
		}
	}
	return rep, nil
}

// lossOf is the weighted mean log loss of the plain Go forward pass on rows.
func lossOf(head *mlp, m matrix, rows []int) float64 {
	sum, weight := 0.0, 0.0
	for i, z := range logitsOf(head, m, rows) {
		k := rows[i]
		sum += m.w[k] * bceLogit(z, m.y[k])
		weight += m.w[k]
	}
	return sum / weight
}

func logitsOf(head *mlp, m matrix, rows []int) []float64 {
	z, h := make([]float32, m.in), make([]float32, head.hidden)
	out := make([]float64, len(rows))
	for i, k := range rows {
		head.standardise(z, m.row(k))
		out[i] = head.logit(z, h)
	}
	return out
}
