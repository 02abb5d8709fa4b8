package textworld_test

import (
	"os"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
)

const testdata = "../../testdata/alfworld/"

func TestGoldenTranscripts(t *testing.T) {
	f, err := os.Open(testdata + "golden.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shown := 0
	st, err := textworld.CheckGolden(f, "golden.jsonl.gz", func(d textworld.Diff) {
		if shown++; shown <= 10 {
			t.Error(d)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := textworld.GoldenStats{Games: 92, Episodes: 602, Steps: 43140, Equal: 43140}
	if st != want {
		t.Errorf("got %+v, want %+v", st, want)
	}
}
