package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/muse-agent/muse/internal/llm"
	"github.com/muse-agent/muse/internal/llm/record"
)

// maxBody bounds an answer, so that a broken server can't fill the memory.
const maxBody = 32 << 20

// call travels in the context of one HTTP request: what the guard writes into
// the body, and what it noticed in the answer.
type call struct {
	op        string
	body      map[string]any // fields to set, over whatever go-openai made
	firstByte time.Duration
	answer    answer // normalised, as handed on to go-openai
	wait      time.Duration
}

type callKey struct{}

// guard is go-openai's HTTP client. go-openai leaves out zero values
// (temperature 0 would run at the server's default), refuses some model names on
// its own account, has no time limits, and takes errors inside 200, cut answers
// and missing choices for success. The guard repairs all of these.
type guard struct {
	o      Options
	client *http.Client
}

func newGuard(o Options) *guard {
	t := o.Transport
	if t == nil {
		t = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: o.Connect, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: o.Connect,
			MaxIdleConnsPerHost: o.Concurrency,
			IdleConnTimeout:     90 * time.Second,
		}
	}
	return &guard{o: o, client: &http.Client{Transport: t,
		// A redirected POST loses its body or carries the key elsewhere: refuse.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (g *guard) close() { g.client.CloseIdleConnections() }

// errIdle and errFirstByte are the causes with which the guard's clocks cancel a request.
var (
	errFirstByte = errors.New("no answer within the first-byte limit")
	errIdle      = errors.New("the answer stood still longer than the idle limit")
)

// Do sends one request. Every failure is an *llm.Error.
func (g *guard) Do(req *http.Request) (*http.Response, error) {
	c, _ := req.Context().Value(callKey{}).(*call)
	if c == nil {
		return nil, errors.New("openai: request outside of the guard")
	}
	fail := func(e llm.Error) (*http.Response, error) {
		e.Op, e.URL = c.op, llm.CleanURL(req.URL.String())
		if key := os.Getenv(g.o.KeyEnv); key != "" { // servers quote it when they refuse it
			e.Message = strings.ReplaceAll(e.Message, key, "(key)")
		}
		return nil, &e
	}
	if err := patch(req, c.body); err != nil {
		return fail(llm.Error{Code: "request", Err: err})
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	clock := time.AfterFunc(c.firstByte, func() { cancel(errFirstByte) })
	defer clock.Stop()
	res, err := g.client.Do(req.WithContext(ctx))
	if err != nil {
		return fail(transportError(ctx, req.Context(), err, "connecting"))
	}
	defer res.Body.Close()
	clock.Stop()
	idle := time.AfterFunc(g.o.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	body, err := readAll(res.Body, func() { idle.Reset(g.o.Idle) })
	if err != nil {
		e := transportError(ctx, req.Context(), err, "reading the answer")
		if e.Code == llm.CodeConnect {
			e.Code, e.Status = llm.CodeTruncated, res.StatusCode
		}
		return fail(e)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		c.wait = retryAfter(res.Header.Get("Retry-After"), g.o.Now())
		return fail(statusError(res, body))
	}
	a, e := decode(res.Header.Get("Content-Type"), body)
	if e != nil {
		e.Status = res.StatusCode
		return fail(*e)
	}
	c.answer = a
	clean, err := json.Marshal(a)
	if err != nil {
		return fail(llm.Error{Status: res.StatusCode, Code: llm.CodeNotJSON, Err: err})
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(clean)), ContentLength: int64(len(clean)), Request: req}, nil
}

// patch sets fields of the JSON body. Keys come out sorted: equal requests have equal bytes.
func patch(req *http.Request, fields map[string]any) error {
	raw, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return fmt.Errorf("patching the request: %w", err)
	}
	for k, v := range fields {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("field %q of the request: %w", k, err)
		}
		body[k] = b
	}
	raw, err = json.Marshal(body)
	if err != nil {
		return fmt.Errorf("patching the request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.ContentLength = int64(len(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return nil
}

func readAll(r io.Reader, alive func()) ([]byte, error) {
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		out = append(out, buf[:n]...)
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return out, err
		case len(out) > maxBody:
			return out, fmt.Errorf("the answer is larger than %d MiB", maxBody>>20)
		}
		alive()
	}
}

// transportError explains a request without an answer. outer is the caller's context.
func transportError(ctx, outer context.Context, err error, doing string) llm.Error {
	var timeout net.Error
	switch cause := context.Cause(ctx); {
	case outer.Err() != nil:
		return llm.Error{Code: llm.CodeTimeout, Message: doing, Err: context.Cause(outer)}
	case errors.Is(cause, errFirstByte), errors.Is(cause, errIdle):
		return llm.Error{Code: llm.CodeTimeout, Message: doing, Retryable: true, Err: cause}
	case errors.Is(err, record.ErrUnknown): // no use in asking again
		return llm.Error{Code: llm.CodeConnect, Message: "replaying", Err: err}
	case errors.As(err, &timeout) && timeout.Timeout():
		return llm.Error{Code: llm.CodeTimeout, Message: doing, Retryable: true, Err: unreachable(err)}
	}
	return llm.Error{Code: llm.CodeConnect, Message: doing + "; is the server running?", Retryable: true, Err: unreachable(err)}
}

// unreachable makes an error match llm.ErrUnavailable. http.Client's own wrapper
// is taken off, as it repeats the URL with its query.
func unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%w: %w", llm.ErrUnavailable, err)
}
