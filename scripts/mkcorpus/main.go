// Command mkcorpus writes the training text of the embedded language model.
package main

import (
	"fmt"
	"os"

	"github.com/muse-agent/muse/train/corpus"
)

func main() {
	if err := corpus.Main(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
