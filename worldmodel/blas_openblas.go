//go:build openblas

package worldmodel

/*
#cgo LDFLAGS: -lopenblas
#include <cblas.h>

// One thread: the sums are then in the same order on every machine of a kind, and
// seeds can be trained side by side.
void openblas_set_num_threads(int);

static void muse_sgemm(int ta, int tb, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc) {
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
*/
import "C"

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BLAS names the library that multiplies matrices.
const BLAS = "openblas"

// impl does what is too small for a call into C.
var impl gonum.Implementation

func init() { C.openblas_set_num_threads(1) }

func sgemm(tA, tB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	C.muse_sgemm(flag(tA), flag(tB), C.int(m), C.int(n), C.int(k),
		(*C.float)(unsafe.SliceData(a)), C.int(lda), (*C.float)(unsafe.SliceData(b)), C.int(ldb),
		C.float(beta), (*C.float)(unsafe.SliceData(c)), C.int(ldc))
}

func flag(t bool) C.int {
	if t {
		return 1
	}
	return 0
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}
