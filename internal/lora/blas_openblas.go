//go:build openblas

package lora

/*
#cgo LDFLAGS: -lopenblas
#include <cblas.h>

// One thread: sums are then in the same order, and sequences are worked on side by side.
void openblas_set_num_threads(int);

static void lora_sgemm(int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc) {
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
*/
import "C"

import "unsafe"

// BLAS names the library that multiplies matrices.
const BLAS = "openblas"

func init() { C.openblas_set_num_threads(1) }

// mul is c = alpha·op(a)·op(b) + beta·c with op(a) [m, k] and op(b) [k, n], row-major
// with the given strides; op is the transpose where asked for.
func mul(ta, tb bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m == 0 || n == 0 || k == 0 {
		return
	}
	flag := func(t bool) C.int {
		if t {
			return 1
		}
		return 0
	}
	C.lora_sgemm(flag(ta), flag(tb), C.int(m), C.int(n), C.int(k), C.float(alpha), (*C.float)(unsafe.SliceData(a)), C.int(lda),
		(*C.float)(unsafe.SliceData(b)), C.int(ldb), C.float(beta), (*C.float)(unsafe.SliceData(c)), C.int(ldc))
}
