package viewer_test

import (
	"fmt"
	"log"

	"github.com/muse-agent/muse/viewer"
)

// Open a run, look for what went wrong with confidence, and draw the decision.
func Example() {
	run, err := viewer.Open("testdata/run", viewer.OpenOptions{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()
	wrong := viewer.Filters[viewer.FilterByName("failed but confident")]
	for i, entry := range run.Entries() {
		if !wrong.Keep(&entry) {
			continue
		}
		e, err := run.Episode(i)
		if err != nil {
			log.Fatal(err)
		}
		view := viewer.View{Episode: e, At: viewer.Lowest(e)}
		picture := viewer.Raster(view.Draw(1280, 800, viewer.Light), 1)
		fmt.Println(e.Goal, picture.Bounds().Max)
		for _, line := range viewer.Explain(e) {
			fmt.Println("-", line)
		}
	}
	// Output:
	// put two keychain in safe. (1280,800)
	// - Failed: step limit after 50 commands.
	// - A keychain was taken, but what the goal asks was not done.
	// - From command 31 on “go to sidetable 1” was given 20 times in a row.
	// - 41 of 50 commands had no effect.
	// - P began at 0.95, was highest (0.98) at command 31, ended at 0.01.
}
