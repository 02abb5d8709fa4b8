package train

import (
	"bytes"
	"testing"
)

// Whatever a crash or another program left in a log: no panic, the kept part is a
// prefix, and scanning it again finds the same units.
func FuzzScanUnits(f *testing.F) {
	f.Add([]byte(`{"format":"f","unit":"a","final":true}` + "\n" + `{"format":"f","unit":"b"}` + "\n" + `{"form`))
	f.Add([]byte("\n\n"))
	f.Add([]byte(`{"format":"g"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		units, keep, err := scanUnits(bytes.NewReader(data), "x", "f")
		if err != nil {
			return
		}
		if keep < 0 || keep > int64(len(data)) || keep > 0 && data[keep-1] != '\n' {
			t.Fatalf("keeps %d of %d bytes", keep, len(data))
		}
		again, k, err := scanUnits(bytes.NewReader(data[:keep]), "x", "f")
		if err != nil || k != keep || len(again) != len(units) {
			t.Fatalf("scanning the kept part: %d units in %d bytes (%v), before %d in %d", len(again), k, err, len(units), keep)
		}
	})
}
