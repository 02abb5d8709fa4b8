package llmtest

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// ours tells a goroutine that the code under test started from those of the
// runtime, of testing and of servers.
func ours(stack string) bool {
	if strings.Contains(stack, "testing.(*T)") || strings.Contains(stack, "testing.tRunner") || strings.Contains(stack, "llmtest.(*Server)") || strings.Contains(stack, "llmtest.NoLeaks") {
		return false
	}
	return strings.Contains(stack, "github.com/muse-agent/muse/")
}

// Goroutines returns the stacks of running goroutines that are the project's own,
// tests and fake servers left out.
func Goroutines() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for s := range strings.SplitSeq(string(buf), "\n\n") {
		if ours(s) {
			out = append(out, s)
		}
	}
	return out
}

// NoLeaks fails the test when goroutines of the project are still running a while
// after the work has ended. Not for tests that run in parallel with others.
func NoLeaks(t testing.TB) {
	t.Helper()
	var left []string
	for range 200 { // ending takes a goroutine a moment, on a busy machine a long one
		if left = Goroutines(); len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines are left behind, the first:\n%s", len(left), left[0])
}
