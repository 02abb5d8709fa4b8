//go:build openblas

// The loops of layers.go and cell.go that are mostly exponentials, on sixteen numbers
// at a time: with plain Go they take more time than all matrix products. The compiler
// splits the vectors into what the processor has.

#include <math.h>
#include <stdint.h>
#include <string.h>

#define L 16
typedef float vf __attribute__((vector_size(4 * L)));
typedef int32_t vi __attribute__((vector_size(4 * L)));
#define INLINE static inline __attribute__((always_inline))

INLINE void ld(vf *v, const float *p, int n) {
	if (n >= L) memcpy(v, p, sizeof *v);
	else { memset(v, 0, sizeof *v); memcpy(v, p, 4 * n); }
}
INLINE void st(float *p, const vf *v, int n) { memcpy(p, v, n >= L ? sizeof *v : 4 * (size_t)n); }
#define SEL(m, a, b) ((vf)(((m) & (vi)(a)) | (~(m) & (vi)(b))))

// e^x of exp32 in matmul.go for x <= 0; below -87 that of -87.
INLINE vf vexp(vf x) {
	vf low = (vf){0} - 87;
	x = SEL(x < low, low, x);
	vf f = x * 1.44269504f - 0.5f;
	vi n = __builtin_convertvector(f, vi);
	vf fn = __builtin_convertvector(n, vf);
	vf r = x - fn * 0.693359375f - fn * -2.12194440e-4f;
	vf p = r * 1.9875691500e-4f + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * r * r + r + 1.0f;
	return p * (vf)((n + 127) << 23);
}
INLINE vf vabs(vf x) { return (vf)((vi)x & 0x7fffffff); }
INLINE vf vsigmoid(vf x) {
	vf e = vexp(-vabs(x));
	vf one = (vf){0} + 1.0f;
	return SEL(x >= 0, one, e) / (1.0f + e);
}
INLINE vf vtanh(vf x) {
	vf e = vexp(-2.0f * vabs(x));
	return (vf)((vi)((1.0f - e) / (1.0f + e)) | ((vi)x & (int32_t)0x80000000));
}
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define MUSE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MUSE_CLONES
#endif

MUSE_CLONES void muse_norm_rows(int n, int width, float eps, float *y, const float *s, float *xhat, float *sig, float *inv) {
	for (int r = 0; r < n; r++, y += width, xhat += width, sig += width) {
		vf acc = {0}, v, sc;
		for (int j = 0; j < width; j += L) {
			ld(&v, y + j, width - j);
			acc += v * v;
		}
		float sum = 0;
		for (int k = 0; k < L; k++)
			sum += acc[k];
		float iv = 1 / sqrtf(sum / width + eps);
		inv[r] = iv;
		for (int j = 0; j < width; j += L) {
			int m = width - j;
			ld(&v, y + j, m);
			ld(&sc, s + j, m);
			v *= iv;
			st(xhat + j, &v, m);
			v *= sc;
			vf g = vsigmoid(v);
			st(sig + j, &g, m);
			v *= g;
			st(y + j, &v, m);
		}
	}
}

MUSE_CLONES void muse_gate_rows(int n, int w, int d, const float *gates, const float *h, float *next, float *r, float *c, float *u) {
	for (int i = 0; i < n; i++, gates += 3 * d, h += d, next += d, r += d, c += d, u += d)
		for (int j = 0; j < w; j += L) {
			int m = w - j;
			vf a, b, x, old;
			ld(&a, gates + j, m);
			ld(&b, gates + w + j, m);
			ld(&x, gates + 2 * w + j, m);
			ld(&old, h + j, m);
			a = vsigmoid(a);
			b = vtanh(a * b);
			x = vsigmoid(x - 1.0f);
			st(r + j, &a, m);
			st(c + j, &b, m);
			st(u + j, &x, m);
			old = x * b + (1.0f - x) * old;
			st(next + j, &old, m);
		}
}
