//go:build !openblas

package lora

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BLAS names the library that multiplies matrices.
const BLAS = "gonum"

var impl gonum.Implementation

// mul is c = alpha·op(a)·op(b) + beta·c with op(a) [m, k] and op(b) [k, n], row-major
// with the given strides; op is the transpose where asked for.
func mul(ta, tb bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m == 0 || n == 0 || k == 0 {
		return
	}
	t := [...]blas.Transpose{blas.NoTrans, blas.Trans}
	ia, ib := 0, 0
	if ta {
		ia = 1
	}
	if tb {
		ib = 1
	}
	impl.Sgemm(t[ia], t[ib], m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}
