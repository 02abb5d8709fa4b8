//go:build openblas

package worldmodel

/*
#cgo CFLAGS: -Wno-psabi
#cgo LDFLAGS: -lopenblas -lm
#include <cblas.h>

// One thread: the sums are then in the same order on every machine of a kind, and
// seeds can be trained side by side.
void openblas_set_num_threads(int);

static void muse_sgemm(int ta, int tb, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc) {
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

// fused_openblas.c
void muse_norm_rows(int n, int width, float eps, float *y, const float *s, float *xhat, float *sig, float *inv);
void muse_gate_rows(int n, int w, int d, const float *gates, const float *h, float *next, float *r, float *c, float *u);
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

// fused32: normRows and gateRows are layer.norm and the end of cell.step in C.
const fused32 = true

func normRows(n, width int, y, s, xhat, sig, inv []float32) {
	C.muse_norm_rows(C.int(n), C.int(width), normEps, ptr(y), ptr(s), ptr(xhat), ptr(sig), ptr(inv))
}

// gateRows works on n rows, d apart, of w numbers; gates are 3·d apart.
func gateRows(n, w, d int, gates, h, next, r, c, u []float32) {
	C.muse_gate_rows(C.int(n), C.int(w), C.int(d), ptr(gates), ptr(h), ptr(next), ptr(r), ptr(c), ptr(u))
}

func ptr(x []float32) *C.float { return (*C.float)(unsafe.SliceData(x)) }

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
