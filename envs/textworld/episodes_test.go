package textworld_test

import (
	"os"
	"testing"

	"github.com/muse-agent/muse/envs/textworld"
)

// The sample's observations come from the original engine by way of several
// harnesses, so this checks the rules on what real agents type.
func TestRealEpisodes(t *testing.T) {
	f, err := os.Open(testdata + "episodes.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shown := 0
	st, err := textworld.CheckEpisodes(f, "episodes.jsonl.gz", func(d textworld.Diff) {
		if shown++; shown <= 10 {
			t.Error(d)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", st)
	if st.Episodes != 2000 || st.Diffs != 0 || st.Equal != st.Episodes {
		t.Errorf("got %+v, want 2000 equal episodes", st)
	}
	if st.Won < st.Episodes/10 || st.Won > st.Episodes*9/10 {
		t.Errorf("%d of %d episodes won: the sample should hold both ends", st.Won, st.Episodes)
	}
}
