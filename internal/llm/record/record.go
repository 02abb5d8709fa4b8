// Package record writes HTTP exchanges to a JSON-lines file and plays them back,
// so that runs with a served model can be repeated without the server.
//
//	t, err := record.Create("rec", http.DefaultTransport)   // openai.Options{Transport: t}
//	t, err := record.Open("rec")                            // later
//
// [New] and [Replay] do the same with a writer and a reader.
//
// Equal requests get their answers in recorded order, each once. Pieces of work that
// run side by side are kept apart by their name ([llm.InUnit]), so that a replay may
// do them in another order.
//
// Headers are not recorded, except Content-Type and Retry-After of answers: a
// key can't get into the file. A user, password or query in the URL is left out.
package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/muse-agent/muse/internal/llm"
)

// Format is the tag of each line.
const Format = "muse/http@1"

// ErrUnknown is matched when a replay is asked what was never recorded.
var ErrUnknown = errors.New("record: request was not recorded")

// Entry is one exchange.
type Entry struct {
	Format      string          `json:"format"`
	Method      string          `json:"method"`
	URL         string          `json:"url"`
	Unit        string          `json:"unit,omitempty"`    // the piece of work that asked
	Request     json.RawMessage `json:"request,omitempty"` // body, as JSON or a JSON string
	Status      int             `json:"status"`
	ContentType string          `json:"content_type,omitempty"`
	RetryAfter  string          `json:"retry_after,omitempty"`
	Body        string          `json:"body"`
	Base64      bool            `json:"base64,omitempty"` // Body is not UTF-8 text
	Fault       string          `json:"fault,omitempty"`  // in place of an answer: why none came
}

// maxAnswer bounds what is kept of a server that never ends its answer.
const maxAnswer = 64 << 20

// key identifies a request of a unit: host and scheme may differ between recording
// and replay.
func key(unit, method, url string, body json.RawMessage) string {
	path := url
	for range 3 { // behind "scheme://host"
		i := bytes.IndexByte([]byte(path), '/')
		if i < 0 {
			break
		}
		path = path[i+1:]
	}
	return unit + "\n" + method + " /" + path + "\n" + string(body)
}

// check refuses entries of another version.
func (e *Entry) check() error {
	if e.Format != Format {
		return fmt.Errorf("format is %.80q, this program reads %q: record again", e.Format, Format)
	}
	return nil
}

// Recorder is a RoundTripper that notes every exchange. Safe for concurrent use.
type Recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	w    io.Writer
}

// New records exchanges of next to w, one JSON line each, in order of completion.
func New(w io.Writer, next http.RoundTripper) *Recorder { return &Recorder{next: next, w: w} }

// RoundTrip sends the request and notes request and answer. The answer is read
// whole before it is handed on. A request without one is noted too, as it counts as a
// try, unless its caller gave it up.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := take(req)
	if err != nil {
		return nil, err
	}
	e := Entry{Format: Format, Method: req.Method, URL: llm.CleanURL(req.URL.String()), Unit: llm.UnitOf(req.Context()), Request: body}
	res, err := r.next.RoundTrip(req)
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
		res.Body.Close()
		if err != nil {
			err = fmt.Errorf("record: answer of %s: %w", e.URL, err)
		} else if len(answer) > maxAnswer {
			err = fmt.Errorf("record: answer of %s is larger than %d MiB", e.URL, maxAnswer>>20)
		}
	}
	if err != nil {
		if errors.Is(context.Cause(req.Context()), context.Canceled) {
			return nil, err
		}
		e.Fault = err.Error()
		return nil, errors.Join(err, r.write(e))
	}
	e.Status, e.ContentType, e.RetryAfter, e.Body = res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Retry-After"), string(answer)
	if !utf8.Valid(answer) {
		e.Body, e.Base64 = base64.StdEncoding.EncodeToString(answer), true
	}
	if err := r.write(e); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(answer))
	return res, nil
}

func (r *Recorder) write(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Close closes the file of [Create]; a recorder of [New] has none. Closing twice is fine.
func (r *Recorder) Close() error {
	if c, ok := r.w.(*numbered); ok {
		if err := c.Close(); err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}
	return nil
}

// take reads the body, puts it back and returns it as JSON.
func take(req *http.Request) (json.RawMessage, error) {
	if req.Body == nil {
		return nil, nil
	}
	b, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("record: request body: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(b))
	if len(b) == 0 {
		return nil, nil
	}
	var c bytes.Buffer
	if json.Compact(&c, b) == nil {
		return c.Bytes(), nil
	}
	return json.Marshal(string(b))
}

// Player is a RoundTripper that answers from a recording. Safe for concurrent use.
type Player struct {
	mu   sync.Mutex
	left map[string]map[string][]Entry // by outermost unit, then key
	n    int
	url  string // of the first entry
}

func newPlayer() *Player { return &Player{left: map[string]map[string][]Entry{}} }

func (p *Player) add(e Entry) {
	k, top := key(e.Unit, e.Method, e.URL, e.Request), llm.TopUnit(e.Unit)
	if p.left[top] == nil {
		p.left[top] = map[string][]Entry{}
	}
	p.left[top][k] = append(p.left[top][k], e)
	p.n++
	if p.url == "" {
		p.url = e.URL
	}
}

// forget drops what a unit recorded so far.
func (p *Player) forget(top string) {
	for _, es := range p.left[top] {
		p.n -= len(es)
	}
	delete(p.left, top)
}

// URL is the address of the first recorded request.
func (p *Player) URL() string { return p.url }

// Replay reads a whole recording.
func Replay(r io.Reader) (*Player, error) {
	p := newPlayer()
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<20)
	for line := 1; sc.Scan(); line++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var e Entry
		err := json.Unmarshal(sc.Bytes(), &e)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return nil, fmt.Errorf("record: line %d: %w", line, err)
		}
		p.add(e)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return p, nil
}

// Left is the number of recorded exchanges that were not asked for.
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// ends shows where a body begins and, as prompts grow at their end, where it ends.
func ends(b []byte) string {
	const most = 150
	if len(b) <= 2*most {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:most]), "") + " … " + strings.ToValidUTF8(string(b[len(b)-most:]), "")
}

// RoundTrip answers from the recording; a request that isn't there, or was
// already answered as often as recorded, is an error that matches ErrUnknown.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := take(req)
	if err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	url := llm.CleanURL(req.URL.String())
	unit := llm.UnitOf(req.Context())
	k := key(unit, req.Method, url, body)
	p.mu.Lock()
	of := p.left[llm.TopUnit(unit)]
	es, known := of[k]
	if len(es) > 0 {
		of[k] = es[1:]
		p.n--
	}
	p.mu.Unlock()
	if len(es) == 0 {
		why := "it differs from all recorded ones"
		if known {
			why = "all its recorded answers are used up"
		}
		if unit != "" {
			unit = " for " + unit
		}
		return nil, fmt.Errorf("%w: %s %s%s: %s (a replay needs the settings of the recorded run); the body is %s",
			ErrUnknown, req.Method, url, unit, why, ends(body))
	}
	e := es[0]
	if e.Fault != "" {
		return nil, fmt.Errorf("record: as recorded: %s", e.Fault)
	}
	answer := []byte(e.Body)
	if e.Base64 {
		if answer, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, fmt.Errorf("record: %s: %w", url, err)
		}
	}
	h := http.Header{}
	if e.ContentType != "" {
		h.Set("Content-Type", e.ContentType)
	}
	if e.RetryAfter != "" {
		h.Set("Retry-After", e.RetryAfter)
	}
	return &http.Response{Status: http.StatusText(e.Status), StatusCode: e.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)), Request: req}, nil
}
