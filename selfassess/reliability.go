package selfassess

import (
	"math"
	"sort"
)

// ECEBins is the number of bins of the calibration error that reports use.
const ECEBins = 15

// Brier is the mean squared difference of probability and label.
func Brier(y, p []float64) float64 {
	s := 0.0
	for i := range p {
		s += (p[i] - y[i]) * (p[i] - y[i])
	}
	return s / float64(len(p))
}

// LogLoss is the mean binary cross-entropy (paper, Eq. 7) in nats; probabilities
// are kept 1e-12 away from 0 and 1.
func LogLoss(y, p []float64) float64 {
	s := 0.0
	for i := range p {
		s += logLoss1(y[i], p[i])
	}
	return s / float64(len(p))
}

func logLoss1(y, p float64) float64 {
	const eps = 1e-12
	p = min(max(p, eps), 1-eps)
	return -(y*math.Log(p) + (1-y)*math.Log(1-p))
}

// ECE is the expected calibration error with equal-width bins (lo, hi] (0 belongs
// to the first): the weighted mean, root mean square and largest gap between mean
// probability and frequency.
func ECE(y, p []float64, bins int) (mean, rms, largest float64) {
	return gaps(y, p, func(i int) int { return widthBin(p[i], bins) }, bins)
}

// ECEEqualCount is the mean gap with bins that hold equally many rows.
func ECEEqualCount(y, p []float64, bins int) float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return p[order[a]] < p[order[b]] })
	bin := make([]int, len(p))
	for k, i := range order {
		bin[i] = k * bins / len(p)
	}
	mean, _, _ := gaps(y, p, func(i int) int { return bin[i] }, bins)
	return mean
}

func gaps(y, p []float64, bin func(i int) int, bins int) (mean, rms, largest float64) {
	sp, sy, n := make([]float64, bins), make([]float64, bins), make([]float64, bins)
	for i := range p {
		b := bin(i)
		sp[b] += p[i]
		sy[b] += y[i]
		n[b]++
	}
	total := float64(len(p))
	for b := range n {
		if n[b] > 0 {
			g := math.Abs(sp[b]-sy[b]) / n[b]
			mean += g * n[b] / total
			rms += g * g * n[b] / total
			largest = max(largest, g)
		}
	}
	return mean, math.Sqrt(rms), largest
}

// widthBin is the index of the equal-width bin (k/bins, (k+1)/bins] that holds p.
func widthBin(p float64, bins int) int {
	k := min(max(int(math.Ceil(p*float64(bins)))-1, 0), bins-1)
	for k > 0 && p <= float64(k)/float64(bins) { // rounding of the product
		k--
	}
	for k < bins-1 && p > float64(k+1)/float64(bins) {
		k++
	}
	return k
}

// ReliabilityBin is one row of a reliability table.
type ReliabilityBin struct {
	Low   float64 `json:"low"` // bin (Low, High]
	High  float64 `json:"high"`
	N     int     `json:"n"`
	MeanP float64 `json:"mean_p"`
	Freq  float64 `json:"freq"` // share of successes
	// 95 % Wilson interval of Freq; it takes rows for independent.
	WilsonLow  float64 `json:"wilson_low"`
	WilsonHigh float64 `json:"wilson_high"`
}

// Reliability returns the non-empty equal-width bins.
func Reliability(y, p []float64, bins int) []ReliabilityBin {
	all := make([]ReliabilityBin, bins)
	for i := range p {
		b := &all[widthBin(p[i], bins)]
		b.N++
		b.MeanP += p[i]
		b.Freq += y[i]
	}
	out := all[:0:0]
	for k, b := range all {
		if b.N == 0 {
			continue
		}
		n := float64(b.N)
		b.Low, b.High = float64(k)/float64(bins), float64(k+1)/float64(bins)
		b.MeanP, b.Freq = b.MeanP/n, b.Freq/n
		b.WilsonLow, b.WilsonHigh = Wilson(b.Freq*n, n)
		out = append(out, b)
	}
	return out
}

// Wilson is the 95 % interval of a share k of n.
func Wilson(k, n float64) (low, high float64) {
	const z = 1.959963984540054
	if n == 0 {
		return 0, 1
	}
	p := k / n
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(mid-half, 0), min(mid+half, 1)
}
