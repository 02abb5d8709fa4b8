package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/serve"
	"github.com/muse-agent/muse/envs/textworld"
)

func envsServeCmd(a *app) *cobra.Command {
	var addr, games string
	c := &cobra.Command{
		Use: "serve", Short: "Let programs in other languages play: JSON lines over a pipe, or HTTP on this machine", Args: noArgs,
		Long: `Without --http it answers requests from standard input on standard output, a line each,
until the input ends. clients/python/muse_env.py is a Gymnasium client for both.`,
		Example: "  echo '{\"op\": \"make\"}' | muse envs serve\n  muse envs serve --http 127.0.0.1:8765",
		RunE: func(c *cobra.Command, _ []string) error {
			var base []*textworld.Game
			if games != "" {
				var err error
				if base, err = textworld.LoadFile(games); err != nil {
					return err
				}
			}
			s := serve.New(serve.Textworld(base))
			defer s.Close()
			if addr == "" {
				return s.Pipe(c.Context(), a.stdin, a.stdout)
			}
			return a.serveHTTP(c.Context(), addr, s.Handler())
		},
	}
	c.Flags().StringVar(&addr, "http", "", "serve HTTP at this address of this machine, such as 127.0.0.1:8765")
	c.Flags().StringVar(&games, "games", "", "file with games instead of the embedded ones")
	return c
}

// serveHTTP serves on a loopback address until ctx ends.
func (a *app) serveHTTP(ctx context.Context, addr string, h http.Handler) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return usagef("--http is %q; use an address such as 127.0.0.1:8765", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--http is %q; the server has no passwords, so only this machine is served: use 127.0.0.1 or localhost", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("envs serve: %w (choose another port)", err)
	}
	a.say("serving http://%s/v1", l.Addr())
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(end) // Serve returns either way
	})
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("envs serve: %w", err)
	}
	return ctx.Err()
}
