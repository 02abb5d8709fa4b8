package deliberate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"time"

	"github.com/muse-agent/muse/internal/llm"
)

// HTTP is a judge behind an address of its own. It is sent, by POST,
//
//	{"problem": "…", "candidates": [{"kind": "path", "text": "…", "answer": "…"}]}
//
// and answers {"scores": [0.93]}: probabilities in order, null where it can't say.
// Answers 408, 429 and 5xx and broken connections are tried again. Safe for
// concurrent use.
type HTTP struct {
	URL     string
	KeyEnv  string        // variable with a bearer token; "" = none
	Timeout time.Duration // of one try, 0 = 2 min
	Retries int           // 0 = 2, negative = none
	Client  *http.Client  // nil = one that follows no redirects
	Sleep   func(context.Context, time.Duration) error
}

// Identity is the address without user, password and query.
func (j *HTTP) Identity() string { return "judge at " + llm.CleanURL(j.URL) }

// Score sends all candidates in one request.
func (j *HTTP) Score(ctx context.Context, problem string, c []Candidate) (Verdict, error) {
	body, err := json.Marshal(map[string]any{"problem": problem, "candidates": c})
	if err != nil {
		return Verdict{}, fmt.Errorf("deliberate: judge: %w", err)
	}
	retries := j.Retries
	if retries == 0 {
		retries = 2
	}
	u := llm.Usage{Requested: len(c)}
	for try := 0; ; try++ {
		u.Calls++
		scores, err := j.once(ctx, body, len(c))
		if err == nil {
			u.Received = len(scores)
			return Verdict{Scores: scores, Usage: u}, nil
		}
		var e *llm.Error
		if try >= retries || ctx.Err() != nil || !errors.As(err, &e) || !e.Retryable {
			return Verdict{Usage: u}, err
		}
		u.Retries++
		if err2 := j.sleep(ctx, time.Second<<min(try, 4)); err2 != nil {
			return Verdict{Usage: u}, err
		}
	}
}

func (j *HTTP) sleep(ctx context.Context, d time.Duration) error {
	if j.Sleep != nil {
		return j.Sleep(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

var plainClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (j *HTTP) once(ctx context.Context, body []byte, n int) ([]float64, error) {
	timeout := j.Timeout
	if timeout <= 0 {
		timeout = 2 * time.Minute
	}
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	fail := func(e llm.Error) ([]float64, error) {
		e.Op, e.URL = "judge", llm.CleanURL(j.URL)
		return nil, &e
	}
	req, err := http.NewRequestWithContext(inner, http.MethodPost, j.URL, bytes.NewReader(body))
	if err != nil {
		return fail(llm.Error{Code: "request", Message: "want something like http://127.0.0.1:9000/score", Err: errors.Unwrap(err)})
	}
	req.Header.Set("Content-Type", "application/json")
	if key := os.Getenv(j.KeyEnv); j.KeyEnv != "" && key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := j.Client
	if client == nil {
		client = plainClient
	}
	res, err := client.Do(req)
	if err != nil {
		return fail(llm.Error{Code: llm.CodeConnect, Retryable: ctx.Err() == nil, Err: fmt.Errorf("%w: %w", llm.ErrUnavailable, errors.Unwrap(err))})
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return fail(llm.Error{Code: llm.CodeTruncated, Status: res.StatusCode, Retryable: ctx.Err() == nil, Err: err})
	}
	if s := res.StatusCode; s != http.StatusOK {
		return fail(llm.Error{Status: s, Message: fmt.Sprintf("%.200q", raw), Retryable: s == 408 || s == 429 || s >= 500 && s != 501})
	}
	var w struct {
		Scores []*float64      `json:"scores"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return fail(llm.Error{Status: 200, Code: llm.CodeNotJSON, Message: fmt.Sprintf("want {\"scores\": […]}, got %.200q", raw), Err: err})
	}
	if len(w.Error) > 0 && string(w.Error) != "null" {
		return fail(llm.Error{Status: 200, Code: "error", Message: fmt.Sprintf("%.200s", w.Error)})
	}
	if len(w.Scores) != n {
		return nil, fmt.Errorf("%w: %s gave %d scores of %d candidates", ErrVerdict, j.Identity(), len(w.Scores), n)
	}
	out := make([]float64, n)
	for i, s := range w.Scores {
		out[i] = math.NaN()
		if s != nil {
			out[i] = *s
		}
	}
	return out, nil
}
