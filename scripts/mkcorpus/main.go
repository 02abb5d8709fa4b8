// Command mkcorpus writes the training text of the embedded language model.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/muse-agent/muse/train/corpus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := corpus.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
