package tfevents_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/muse-agent/muse/internal/tfevents"
)

func Example() {
	dir, err := os.MkdirTemp("", "tb")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	w, err := tfevents.Create(dir, "muse")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = w.Scalar("success", 10, 0.75) // a failure comes back from Close
	fmt.Println(w.Close())
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	fmt.Println(tfevents.Read(files[0]))
	// Output:
	// <nil>
	// [{success 10 0.75 10}] <nil>
}
