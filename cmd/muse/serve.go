package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/serve"
)

// tokenEnv holds the token that clients of `muse serve` must send.
const tokenEnv = "MUSE_SERVE_TOKEN"

func serveCmd(a *app) *cobra.Command {
	var (
		f thinkFlags
		o serve.Options
	)
	c := &cobra.Command{
		Use: "serve", Short: "An OpenAI-compatible endpoint with metacognition behind it", Args: noArgs,
		Long: `Serves /v1/chat/completions around one of the three systems, for any client that can
set a base URL: streamed or not, usage summed over all models, how the answer was chosen
in the field "muse". Metrics for Prometheus are at /metrics.

It listens on this machine only. For another address set the variable MUSE_SERVE_TOKEN,
which clients send as their API key. An interrupt lets conversations under way end.`,
		Example: "  muse serve --thinker llama@http://127.0.0.1:8080/v1 --judge qwen@http://127.0.0.1:8081/v1\n" +
			"  muse serve --ui --system ensemble --node a@http://127.0.0.1:8080/v1,b@http://127.0.0.1:8080/v1",
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := f.engine(a)
			if err != nil {
				return err
			}
			defer f.Close()
			o.Token, _ = a.getenv(tokenEnv)
			o.Say = func(s string) { a.say("%s", s) }
			o.About = map[string]any{"system": f.system, "mode": f.mode, "thresholds": f.ensemble.Thresholds}
			s, err := serve.New(e, o)
			if err != nil {
				return err
			}
			a.say("listening on %s (base URL %s/v1)", s.URL(), s.URL())
			if o.UI {
				a.say("page: %s/", s.URL())
			}
			return s.Run(c.Context())
		},
	}
	f.add(c)
	fs := c.Flags()
	fs.StringVar(&o.Addr, "addr", serve.DefaultAddr, "address to listen on; port 0 chooses a free one")
	fs.StringVar(&o.Model, "name", "muse", "name of the model that clients see")
	fs.IntVar(&o.Concurrent, "concurrent", 8, "conversations answered at a time")
	fs.IntVar(&o.Queue, "queue", 256, "conversations that may wait")
	fs.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "for one conversation, waiting included")
	fs.DurationVar(&o.Grace, "grace", 30*time.Second, "for conversations under way at the end")
	fs.BoolVar(&o.UI, "ui", false, "a page with query box, charts and the tree of paths")
	return c
}
