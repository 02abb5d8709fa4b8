package worldmodel

import (
	"math"
	"unsafe"
)

// mulNN computes C(m,n) = β·C + A(m,k)·B(k,n), all row-major with row strides lda,
// ldb, ldc. One row skips the zeros of A, which is what makes one-hot latents cheap.
func mulNN[T float](m, n, k int, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if m == 1 {
		c = c[:n]
		if beta == 0 {
			clear(c)
		}
		for l, v := range a[:k] {
			if v != 0 {
				axpy(v, b[l*ldb:l*ldb+n], c)
			}
		}
		return
	}
	gemm(false, false, m, n, k, a, lda, b, ldb, beta, c, ldc)
}

// mulNT computes C(m,n) = β·C + A(m,k)·B(n,k)ᵀ.
func mulNT[T float](m, n, k int, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if m == 1 {
		c = c[:n]
		for j := range c {
			d := dot(a[:k], b[j*ldb:j*ldb+k])
			if beta != 0 {
				d += beta * c[j]
			}
			c[j] = d
		}
		return
	}
	gemm(false, true, m, n, k, a, lda, b, ldb, beta, c, ldc)
}

// mulTN computes C(m,n) = β·C + A(k,m)ᵀ·B(k,n).
func mulTN[T float](m, n, k int, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	gemm(true, false, m, n, k, a, lda, b, ldb, beta, c, ldc)
}

func gemm[T float](tA, tB bool, m, n, k int, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	if is32[T]() {
		sgemm(tA, tB, m, n, k, as[float32](a), lda, as[float32](b), ldb, float32(beta), as[float32](c), ldc)
		return
	}
	impl.Dgemm(trans(tA), trans(tB), m, n, k, 1, as[float64](a), lda, as[float64](b), ldb, float64(beta), as[float64](c), ldc)
}

// axpy adds v·x to y.
func axpy[T float](v T, x, y []T) {
	if is32[T]() {
		impl.Saxpy(len(y), float32(v), as[float32](x), 1, as[float32](y), 1)
		return
	}
	impl.Daxpy(len(y), float64(v), as[float64](x), 1, as[float64](y), 1)
}

func dot[T float](x, y []T) T {
	if is32[T]() {
		return T(impl.Sdot(len(y), as[float32](x), 1, as[float32](y), 1))
	}
	return T(impl.Ddot(len(y), as[float64](x), 1, as[float64](y), 1))
}

// is32 is decided at compile time.
func is32[T float]() bool { return unsafe.Sizeof(T(0)) == 4 }

// as views a slice as one of its own type, which generic code can't say directly.
// A conversion through an interface would allocate.
func as[U, T float](x []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// sigmoid is stable for any x; in float32 its relative error is below 3e-7.
func sigmoid[T float](x T) T {
	if is32[T]() {
		e := exp32(-abs(float32(x)))
		if x >= 0 {
			return T(1 / (1 + e))
		}
		return T(e / (1 + e))
	}
	e := math.Exp(-math.Abs(float64(x)))
	if x >= 0 {
		return T(1 / (1 + e))
	}
	return T(e / (1 + e))
}

// tanh is 2σ(2x) − 1, within 3e-7 of the true value in float32.
func tanh[T float](x T) T {
	if is32[T]() {
		e := exp32(-2 * abs(float32(x)))
		v := (1 - e) / (1 + e)
		if x < 0 {
			v = -v
		}
		return T(v)
	}
	return T(math.Tanh(float64(x)))
}

func exp[T float](x T) T {
	if is32[T]() {
		return T(exp32(float32(x)))
	}
	return T(math.Exp(float64(x)))
}

func log[T float](x T) T { return T(math.Log(float64(x))) }

func abs[T float](x T) T {
	if x < 0 {
		return -x
	}
	return x
}

func sqrt[T float](x T) T { return T(math.Sqrt(float64(x))) }

// exp32 is e^x with a relative error below 2e-7: x = n·ln 2 + r, a polynomial in r
// and the exponent bits. It is five times as fast as the float64 function, and
// the gates of the recurrence are made of it. Below -87 it returns 0.
func exp32(x float32) float32 {
	if !(x > -87) {
		if x != x {
			return x
		}
		return 0
	}
	if x > 88 {
		return float32(math.Inf(1))
	}
	const log2e, hi, lo = 1.44269504, 0.693359375, -2.12194440e-4
	f := x * log2e
	n := int32(f + 0.5)
	if f < -0.5 {
		n = int32(f - 0.5)
	}
	r := x - float32(n)*hi - float32(n)*lo
	// Cephes expf.
	p := float32(1.9875691500e-4)
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	p = p*r*r + r + 1
	return p * math.Float32frombits(uint32(n+127)<<23)
}
