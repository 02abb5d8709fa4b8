package onnx

import (
	"encoding/binary"
	"math"
	"os"
	"testing"
)

func f32le(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// native skips a test that needs the library, unless REQUIRE_NATIVE=1 makes
// that a failure, so that a broken build can't pass in silence.
func native(t testing.TB) {
	t.Helper()
	_, _, err := Library()
	if err == nil {
		return
	}
	if os.Getenv("REQUIRE_NATIVE") == "1" {
		t.Fatal(err)
	}
	t.Skip(err)
}
