package serve

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"context"

	"github.com/muse-agent/muse/internal/llm"
)

// buckets of the duration histogram, in seconds.
var buckets = []float64{.1, .3, 1, 3, 10, 30, 100, 300}

// metrics in Prometheus' text format, version 0.0.4.
type metrics struct {
	running, waiting, refused, bad atomic.Int64

	mu      sync.Mutex
	ended   map[string]int64 // by outcome
	counts  []int64          // by bucket, not cumulative
	seconds float64
	total   int64
	usage   llm.Usage
}

// outcomes in the order of their lines.
var outcomes = []string{"ok", "error", "cancelled"}

func (m *metrics) init() { m.ended, m.counts = map[string]int64{}, make([]int64, len(buckets)) }

func (m *metrics) done(d time.Duration, u llm.Usage, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.ended["ok"]++
	case errors.Is(err, context.Canceled):
		m.ended["cancelled"]++
	default:
		m.ended["error"]++
	}
	for i, b := range buckets {
		if d.Seconds() <= b {
			m.counts[i]++
			break
		}
	}
	m.seconds += d.Seconds()
	m.total++
	m.usage = m.usage.Add(u)
}

func (m *metrics) write(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	line := func(name, labels string, v any) { fmt.Fprintf(w, "%s%s %v\n", name, labels, v) }
	head := func(name, kind, help string) { fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	head("muse_conversations_total", "counter", "Conversations that were answered, by outcome.")
	for _, o := range outcomes {
		line("muse_conversations_total", `{outcome="`+o+`"}`, m.ended[o])
	}
	head("muse_refused_total", "counter", "Requests refused because too many were waiting.")
	line("muse_refused_total", "", m.refused.Load())
	head("muse_bad_requests_total", "counter", "Requests that could not be read.")
	line("muse_bad_requests_total", "", m.bad.Load())
	head("muse_running", "gauge", "Conversations being answered.")
	line("muse_running", "", m.running.Load())
	head("muse_waiting", "gauge", "Conversations waiting for their turn.")
	line("muse_waiting", "", m.waiting.Load())
	head("muse_conversation_seconds", "histogram", "Time to answer a conversation.")
	sum := int64(0)
	for i, b := range buckets {
		sum += m.counts[i]
		line("muse_conversation_seconds_bucket", `{le="`+strconv.FormatFloat(b, 'g', -1, 64)+`"}`, sum)
	}
	line("muse_conversation_seconds_bucket", `{le="+Inf"}`, m.total)
	line("muse_conversation_seconds_sum", "", m.seconds)
	line("muse_conversation_seconds_count", "", m.total)
	head("muse_tokens_total", "counter", "Tokens of all models together.")
	line("muse_tokens_total", `{kind="prompt"}`, m.usage.PromptTokens)
	line("muse_tokens_total", `{kind="completion"}`, m.usage.CompletionTokens)
	head("muse_upstream_calls_total", "counter", "Calls of models.")
	line("muse_upstream_calls_total", "", m.usage.Calls)
	head("muse_upstream_retries_total", "counter", "Calls that were repeated.")
	line("muse_upstream_retries_total", "", m.usage.Retries)
}
