package lora

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Sequence is a tokenised text. Weights[i] is the weight of token i in the loss,
// given all before it; Weights[0] counts for nothing.
type Sequence struct {
	IDs     []int32
	Weights []float32

	// below is the input of block at, [T, d]; where at is the number of blocks, the
	// last block's output at the rows that are learnt. See Prepare.
	below []float32
	at    int
}

// learnt lists the places whose token has a weight.
func (s Sequence) learnt() (rows []int, weight float64) {
	for i := 1; i < len(s.IDs); i++ {
		if s.Weights[i] != 0 {
			rows = append(rows, i-1)
			weight += float64(s.Weights[i])
		}
	}
	return rows, weight
}

// Weight is the sum of the weights that count.
func (s Sequence) Weight() float64 { _, w := s.learnt(); return w }

func (n *Net) check(s Sequence) error {
	if len(s.IDs) < 2 || len(s.IDs) != len(s.Weights) {
		return fmt.Errorf("lora: a sequence of %d tokens with %d weights; at least two tokens, one weight each", len(s.IDs), len(s.Weights))
	}
	for i, id := range s.IDs {
		if id < 0 || int(id) >= n.Vocab {
			return fmt.Errorf("lora: token %d is %d; the network knows 0 to %d", i, id, n.Vocab-1)
		}
	}
	return nil
}

// logProb of row i of the pass's logits for a token; where dz is given it gets
// c·∂(log p)/∂logits.
func (f *pass) logProb(i int, token int32, c float64, dz []float32) float64 {
	v := f.n.Vocab
	z := f.logits[i*v : (i+1)*v]
	top := z[0]
	for _, x := range z {
		top = max(top, x)
	}
	sum := 0.0
	for _, x := range z {
		sum += math.Exp(float64(x - top))
	}
	logZ := float64(top) + math.Log(sum)
	if dz != nil {
		d := dz[i*v : (i+1)*v]
		for j, x := range z {
			d[j] = float32(-c * math.Exp(float64(x)-logZ))
		}
		d[token] += float32(c)
	}
	return float64(z[token]) - logZ
}

// score is the weighted sum of log probabilities of a sequence. Where g is given,
// the gradient of coefficient(score)·score is added to it, with the coefficient held constant.
func (f *pass) score(s Sequence, ad *Adapter, coefficient func(sum float64) float64, g *Grads) float64 {
	rows, _ := s.learnt()
	if len(rows) == 0 {
		return 0
	}
	if s.below != nil && s.at == f.from {
		rows = f.resume(s, rows)
	} else {
		f.forward(s.IDs)
	}
	f.head(rows)
	rows, _ = s.learnt()
	sum := 0.0
	for i, r := range rows {
		sum += float64(s.Weights[r+1]) * f.logProb(i, s.IDs[r+1], 0, nil)
	}
	if g == nil {
		return sum
	}
	c := coefficient(sum)
	dz := make([]float32, len(f.logits))
	for i, r := range rows {
		f.logProb(i, s.IDs[r+1], c*float64(s.Weights[r+1]), dz)
	}
	f.backward(dz, ad, g)
	return sum
}

// Prepare keeps, of every sequence, what the blocks below the adapter's lowest one
// compute: training doesn't change it. It saves most of the work where an adapter has
// targets head or last, at the price of T·d numbers a sequence.
func (n *Net) Prepare(ad *Adapter, ss []Sequence, workers int) error {
	from := n.lowest(ad)
	if from == 0 {
		return nil
	}
	kept := make([][]float32, len(ss))
	_, err := n.each(nil, ss, workers, func(f *pass, i int) float64 {
		f.stop = from
		f.forward(ss[i].IDs)
		if from < len(n.layers) {
			kept[i] = append([]float32{}, f.x...)
			return 0
		}
		rows, _ := ss[i].learnt()
		for _, r := range rows {
			kept[i] = append(kept[i], f.x[r*n.Dim:(r+1)*n.Dim]...)
		}
		return 0
	})
	for i := range ss {
		if err == nil {
			ss[i].below, ss[i].at = kept[i], from
		}
	}
	return err
}

// newPass makes a work space. With a nil adapter nothing is kept for gradients.
func (n *Net) newPass(w [][]float32, ad *Adapter) *pass {
	f := &pass{n: n, w: w, from: len(n.layers), stop: len(n.layers)}
	if ad != nil {
		f.from = n.lowest(ad)
	}
	if f.from == len(n.layers) { // one shared space
		f.layers = make([]acts, len(n.layers)+1)
	}
	return f
}

// LogProbs returns the weighted sum of log probabilities of every sequence under
// the network with an adapter (nil = without). workers changes no result.
func (n *Net) LogProbs(ad *Adapter, ss []Sequence, workers int) ([]float64, error) {
	return n.each(ad, ss, workers, func(f *pass, i int) float64 { return f.score(ss[i], nil, nil, nil) })
}

// Logits are those after the last of ids, for the token that follows.
func (n *Net) Logits(ad *Adapter, ids []int32) ([]float32, error) {
	s := Sequence{IDs: ids, Weights: make([]float32, len(ids))}
	var out []float32
	_, err := n.each(ad, []Sequence{s}, 1, func(f *pass, _ int) float64 {
		f.forward(ids)
		f.head([]int{len(ids) - 1})
		out = f.logits
		return 0
	})
	return out, err
}

// each calls work for every sequence, side by side, with a work space of its own.
func (n *Net) each(ad *Adapter, ss []Sequence, workers int, work func(f *pass, i int) float64) ([]float64, error) {
	for _, s := range ss {
		if err := n.check(s); err != nil {
			return nil, err
		}
	}
	if ad != nil && ad.at == nil {
		if err := ad.bind(n); err != nil {
			return nil, err
		}
	}
	w := n.effective(ad)
	out := make([]float64, len(ss))
	var wg sync.WaitGroup
	for k := range max(1, min(workers, len(ss))) {
		wg.Go(func() {
			f := n.newPass(w, ad)
			for i := k; i < len(ss); i += max(1, workers) {
				out[i] = work(f, i)
			}
		})
	}
	wg.Wait()
	return out, nil
}

var errNoWeight = errors.New("lora: no token of the batch has a weight")

// CrossEntropy is the weighted mean of −log p over the tokens of a batch. With g,
// its gradient with respect to the adapter's factors is added to g.
func CrossEntropy(n *Net, ad *Adapter, ss []Sequence, g *Grads, workers int) (float64, error) {
	total := 0.0
	for _, s := range ss {
		total += s.Weight()
	}
	if total == 0 {
		return 0, errNoWeight
	}
	sums, err := n.gradients(ad, ss, workers, g, func(int, float64) float64 { return -1 / total })
	if err != nil {
		return 0, err
	}
	loss := 0.0
	for _, s := range sums {
		loss -= s / total
	}
	return loss, nil
}

// gradients scores every sequence and adds the gradients of coefficient(i, score)·score
// to g, in the order of the sequences.
func (n *Net) gradients(ad *Adapter, ss []Sequence, workers int, g *Grads, coefficient func(i int, sum float64) float64) ([]float64, error) {
	if g == nil {
		return n.LogProbs(ad, ss, workers)
	}
	parts := make([]*Grads, len(ss))
	sums, err := n.each(ad, ss, workers, func(f *pass, i int) float64 {
		parts[i] = ad.NewGrads()
		return f.score(ss[i], ad, func(sum float64) float64 { return coefficient(i, sum) }, parts[i])
	})
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		g.add(p)
	}
	return sums, nil
}

// Preference is a pair of answers with what the base model thinks of them. Only
// the answers' tokens have weights.
type Preference struct {
	Preferred, Dispreferred Sequence
	// Log probabilities of the two under the reference model (Net.LogProbs(nil, …)).
	RefPreferred, RefDispreferred float64
}

// Margin is the difference of the log ratios to the reference, without β.
func Margin(preferred, dispreferred, refPreferred, refDispreferred float64) float64 {
	return (preferred - refPreferred) - (dispreferred - refDispreferred)
}

// PreferenceLoss is the DPO loss of one pair (Rafailov et al., 2024, eq. 7),
// −log σ(β·margin), and its derivative with respect to the margin.
func PreferenceLoss(beta, margin float64) (loss, slope float64) {
	x := beta * margin
	// log(1+e^−x) without overflow.
	loss = math.Max(-x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	return loss, -beta / (1 + math.Exp(x))
}

// DPO is the mean preference loss of a batch and the share of pairs whose margin
// is positive (ties count half). With g, the gradient is added to it.
func DPO(n *Net, ad *Adapter, ps []Preference, beta float64, g *Grads, workers int) (loss, accuracy float64, err error) {
	if len(ps) == 0 {
		return 0, 0, errors.New("lora: no preference pair")
	}
	ss := make([]Sequence, 0, 2*len(ps))
	for _, p := range ps {
		ss = append(ss, p.Preferred, p.Dispreferred)
	}
	// The slope of a pair needs both scores, so they are scored first.
	sums, err := n.LogProbs(ad, ss, workers)
	if err != nil {
		return 0, 0, err
	}
	slopes := make([]float64, len(ss))
	for i, p := range ps {
		m := Margin(sums[2*i], sums[2*i+1], p.RefPreferred, p.RefDispreferred)
		l, d := PreferenceLoss(beta, m)
		loss += l / float64(len(ps))
		slopes[2*i], slopes[2*i+1] = d/float64(len(ps)), -d/float64(len(ps))
		switch {
		case m > 0:
			accuracy += 1 / float64(len(ps))
		case m == 0:
			accuracy += .5 / float64(len(ps))
		}
	}
	if g != nil {
		if _, err := n.gradients(ad, ss, workers, g, func(i int, _ float64) float64 { return slopes[i] }); err != nil {
			return 0, 0, err
		}
	}
	return loss, accuracy, nil
}
