//go:build !openblas

package worldmodel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BLAS names the library that multiplies matrices.
const BLAS = "gonum"

var impl gonum.Implementation

func sgemm(tA, tB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	impl.Sgemm(trans(tA), trans(tB), m, n, k, 1, a, lda, b, ldb, beta, c, ldc)
}

// fused32 says whether [normRows] and [gateRows] stand for the loops of layer.norm and
// cell.step in float32.
const fused32 = false

func normRows(n, width int, y, s, xhat, sig, inv []float32) {}

func gateRows(n, w, d int, gates, h, next, r, c, u []float32) {}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}
