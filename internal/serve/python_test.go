package serve_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/muse-agent/muse/internal/serve"
	"github.com/muse-agent/muse/internal/testpython"
)

//go:embed testdata/client.py
var pythonClient string

// TestPythonClient: what an application does with Python's openai package.
func TestPythonClient(t *testing.T) {
	python := testpython.Find(t)
	url, _ := start(t, engine(func(ctx context.Context, q serve.Query) (serve.Answer, error) {
		if q.Problem() == "break" {
			return serve.Answer{}, errors.New("the upstream is gone")
		}
		return echo(ctx, q)
	}), serve.Options{Token: "s3cret", Beat: 5 * time.Millisecond})
	cmd := exec.Command(python, "-c", pythonClient, url+"/v1", "s3cret")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || strings.TrimSpace(out.String()) != "all right" {
		t.Errorf("%v: %s\n%s", err, out.String(), errs.String())
	}
}
