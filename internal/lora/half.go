package lora

import "math"

// fromHalf is the value of an IEEE 754 binary16 number.
func fromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&0x1f, uint32(h&0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	v := float32(frac) * (1.0 / (1 << 24)) // subnormal: exact in float32
	if sign != 0 {
		v = -v
	}
	return math.Float32frombits(math.Float32bits(v) | sign) // keeps −0
}

// toHalf rounds to the nearest binary16 number, ties to even. Values beyond its
// range become infinite.
func toHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00
	case abs >= 0x47800000: // 65536 and more
		return sign | 0x7c00
	case abs < 0x38800000: // below 2⁻¹⁴: multiples of 2⁻²⁴
		v := math.RoundToEven(float64(math.Float32frombits(abs)) * (1 << 24))
		return sign | uint16(v)
	}
	abs += 0xfff + abs>>13&1
	return sign | uint16((abs-0x38000000)>>13)
}
