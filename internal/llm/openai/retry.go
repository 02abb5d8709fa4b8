package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/rng"
)

const (
	firstWait = 500 * time.Millisecond
	mostWait  = 20 * time.Second
)

// withRetries repeats one call while its error says that this may help. It
// returns the number of repetitions.
func (m *Model) withRetries(ctx context.Context, c *call, do func(context.Context) error) (int, error) {
	r := rng.New(rng.Seed(0, m.url, c.op), "jitter")
	for try := 0; ; try++ {
		c.wait = 0
		err := do(context.WithValue(ctx, callKey{}, c))
		var e *llm.Error
		if err == nil || !errors.As(err, &e) || !e.Retryable || try >= m.o.Retries || ctx.Err() != nil {
			return try, err
		}
		wait := min(firstWait<<min(try, 10), mostWait)
		wait = wait/2 + time.Duration(r.Int64N(int64(wait/2)+1))
		if c.wait > m.o.MaxWait {
			e.Retryable = false
			e.Message = strings.TrimSpace(fmt.Sprintf("%s (the server asks to wait %s, more than %s: try later)", e.Message, c.wait.Round(time.Second), m.o.MaxWait))
			return try, err
		}
		if err2 := m.o.Sleep(ctx, max(wait, c.wait)); err2 != nil {
			return try, fmt.Errorf("%w (gave up waiting for the next try: %w)", err, err2)
		}
	}
}

// retryAfter reads the header: seconds or a date. 0 where there is none.
func retryAfter(h string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(strings.TrimSpace(h)); err == nil && s >= 0 && s < 1<<30 {
		return time.Duration(s) * time.Second
	}
	if t, err := http.ParseTime(h); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}
