package llm

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

var (
	// ErrContext: the prefix plus the request does not fit into the model's context.
	ErrContext = errors.New("llm: context is full")
	// ErrUnavailable: built without native libraries, or the server can't be reached.
	ErrUnavailable = errors.New("llm: model is unavailable")
)

// Codes of Error where the server gave none.
const (
	CodeConnect   = "connect"    // no connection, or it broke before an answer
	CodeTimeout   = "timeout"    // one of the client's own time limits
	CodeTruncated = "truncated"  // the answer stopped without saying why
	CodeEmpty     = "empty"      // an answer without text
	CodeNotJSON   = "not_json"   // a page or text where JSON was expected
	CodeNoChoices = "no_choices" // 200 without any continuation
	CodeFinish    = "finish"     // ended for a reason that gives no text (filter, tool call)
)

// Error is the one error of served models: whatever went wrong between the
// request and a usable answer.
type Error struct {
	Op        string // "chat", "completion", "probe"
	URL       string // without user, password and query
	Status    int    // HTTP status; 0 = none was received
	Code      string // the server's, or one of the Code constants
	Message   string // what happened and, where known, the next step
	Retryable bool
	Err       error // cause: matches ErrContext, ErrUnavailable, context errors …
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "llm: %s at %s", e.Op, e.URL)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CleanURL removes what must not reach logs and records: user, password, query.
func CleanURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
