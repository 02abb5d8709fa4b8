// Package serve lets programs in other languages play environments: JSON requests and
// answers, one a line over a pipe ([Server.Pipe]) or one a POST over HTTP on this
// machine ([Server.Handler]). Many environments step in one request.
//
// A request names an operation:
//
//	{"op": "make", "n": 2, "games": ["pick_…/trial_…"], "options": {"max_steps": 50}}
//	{"op": "reset", "session": "1", "seed": 7}
//	{"op": "step", "session": "1", "actions": ["look", "go to shelf 1"]}
//	{"op": "close", "session": "1"}
//
// Answers hold one entry an environment: obs, reward, terminated, truncated, and infos
// where there is something to tell. A failed request answers {"error": "…"} and changes
// nothing. Over a pipe the session may be left out: it is the last one made.
//
// The words are Gymnasium's. With "autoreset": true an ended environment is reset in
// the same step (Gymnasium's SAME_STEP): its last observation is in info.final_obs.
// Success is told with the step that ends an episode and never before; reasons and the
// expert's plan are not told at all.
package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/muse-agent/muse/envs"
)

// Version names the protocol.
const Version = "muse/envs@1"

// ErrRequest is matched when a request can't be carried out as it stands.
var ErrRequest = errors.New("serve: bad request")

// MaxEnvs bounds the environments of one session, MaxSessions the open sessions.
const (
	MaxEnvs     = 4096
	MaxSessions = 64
)

// MakeOptions choose what a session plays.
type MakeOptions struct {
	Env        string   `json:"env"`        // "" = the server's default
	Split      string   `json:"split"`      // of the games, "" = all of the server's
	Types      []string `json:"types"`      // task types
	Games      []string `json:"games"`      // ids, in this order; all others are left out
	Dialect    string   `json:"dialect"`    // "" = move
	MaxSteps   int      `json:"max_steps"`  // 0 = the environment's own
	Admissible bool     `json:"admissible"` // put the possible commands into infos
}

// Maker makes environment i of n of a session. Environments of one session may play
// different games; which ones is told by the id it returns.
type Maker func(o MakeOptions, n int) ([]envs.Env, []string, error)

// request is one line or one POST.
type request struct {
	Op        string          `json:"op"`
	ID        json.RawMessage `json:"id,omitempty"` // echoed
	Session   string          `json:"session"`
	N         int             `json:"n"`
	Options   MakeOptions     `json:"options"`
	Autoreset bool            `json:"autoreset"`
	Index     []int           `json:"index"` // which environments; absent = all
	Seed      *uint64         `json:"seed"`
	Reset     map[string]any  `json:"reset_options"`
	Actions   []any           `json:"actions"`
}

// Answer is what comes back; fields that an operation doesn't fill are absent.
type Answer struct {
	ID         json.RawMessage `json:"id,omitempty"`
	Error      string          `json:"error,omitempty"`
	Version    string          `json:"version,omitempty"`
	Session    string          `json:"session,omitempty"`
	Spec       *envs.Spec      `json:"spec,omitempty"`
	Games      []string        `json:"games,omitempty"`
	Obs        []envs.Obs      `json:"obs,omitempty"`
	Reward     []float64       `json:"reward,omitempty"`
	Terminated []bool          `json:"terminated,omitempty"`
	Truncated  []bool          `json:"truncated,omitempty"`
	Infos      map[string]Info `json:"infos,omitempty"` // by index, only where there is something to tell
}

// Info is what travels beside an observation.
type Info struct {
	Extra    map[string]any `json:"extra,omitempty"`
	Success  *bool          `json:"success,omitempty"` // only on the step that ends an episode
	Steps    int            `json:"steps,omitempty"`   // of that episode
	FinalObs envs.Obs       `json:"final_obs,omitempty"`
}

// Server holds sessions. Safe for concurrent use; requests of one session are carried
// out one after the other.
type Server struct {
	make     Maker
	mu       sync.Mutex
	sessions map[string]*session
	next     int
}

type session struct {
	mu        sync.Mutex
	envs      []envs.Env
	steps     []int
	autoreset bool
}

// New returns a server of what mk makes.
func New(mk Maker) *Server { return &Server{make: mk, sessions: map[string]*session{}} }

// Do carries out one request, the JSON of an object. It never fails: errors are in
// the answer.
func (s *Server) Do(ctx context.Context, line []byte) *Answer {
	return s.do(ctx, line, "")
}

func (s *Server) do(ctx context.Context, line []byte, last string) *Answer {
	var r request
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return &Answer{Error: fmt.Sprintf("%v: %v", ErrRequest, err)}
	}
	if r.Session == "" {
		r.Session = last
	}
	a, err := s.op(ctx, &r)
	if err != nil {
		a = &Answer{Error: err.Error()}
	}
	a.ID = r.ID
	return a
}

func (s *Server) op(ctx context.Context, r *request) (*Answer, error) {
	if r.Op == "make" {
		return s.open(r)
	}
	s.mu.Lock()
	x := s.sessions[r.Session]
	if r.Op == "close" {
		delete(s.sessions, r.Session)
	}
	s.mu.Unlock()
	if x == nil {
		return nil, fmt.Errorf("%w: no session %q; send {\"op\": \"make\"} first", ErrRequest, r.Session)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch r.Op {
	case "reset":
		return x.reset(ctx, r)
	case "step":
		return x.step(ctx, r)
	case "close":
		return &Answer{Session: r.Session}, x.close()
	}
	return nil, fmt.Errorf("%w: unknown op %q; known are make, reset, step, close", ErrRequest, r.Op)
}

func (s *Server) open(r *request) (*Answer, error) {
	n := r.N
	if n == 0 {
		n = 1
	}
	if n < 0 || n > MaxEnvs {
		return nil, fmt.Errorf("%w: n is %d; from 1 to %d environments are possible", ErrRequest, n, MaxEnvs)
	}
	es, games, err := s.make(r.Options, n)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= MaxSessions {
		for _, e := range es {
			err = errors.Join(err, e.Close())
		}
		return nil, errors.Join(fmt.Errorf("%w: %d sessions are open; close one", ErrRequest, MaxSessions), err)
	}
	s.next++
	id := strconv.Itoa(s.next)
	s.sessions[id] = &session{envs: es, steps: make([]int, len(es)), autoreset: r.Autoreset}
	spec := es[0].Spec()
	return &Answer{Version: Version, Session: id, Spec: &spec, Games: games}, nil
}

// chosen are the environments that a request means.
func (x *session) chosen(index []int) ([]int, error) {
	if index == nil {
		index = make([]int, len(x.envs))
		for i := range index {
			index[i] = i
		}
		return index, nil
	}
	seen := map[int]bool{}
	for _, i := range index {
		if i < 0 || i >= len(x.envs) || seen[i] {
			return nil, fmt.Errorf("%w: index %v; the session has environments 0 to %d, each may be named once", ErrRequest, index, len(x.envs)-1)
		}
		seen[i] = true
	}
	return index, nil
}

func (x *session) reset(ctx context.Context, r *request) (*Answer, error) {
	index, err := x.chosen(r.Index)
	if err != nil {
		return nil, err
	}
	a := &Answer{Obs: make([]envs.Obs, len(index))}
	for k, i := range index {
		o := envs.ResetOptions{Options: r.Reset}
		if r.Seed != nil { // environment i of a batch gets seed + i, as in Gymnasium
			seed := *r.Seed + uint64(k)
			o.Seed = &seed
		}
		obs, info, err := x.envs[i].Reset(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("environment %d: %w", i, err)
		}
		a.Obs[k], x.steps[i] = obs, 0
		a.tell(k, Info{Extra: info.Extra})
	}
	return a, nil
}

func (a *Answer) tell(k int, i Info) {
	if i.Extra == nil && i.Success == nil && i.FinalObs == nil {
		return
	}
	if a.Infos == nil {
		a.Infos = map[string]Info{}
	}
	a.Infos[strconv.Itoa(k)] = i
}

func (x *session) step(ctx context.Context, r *request) (*Answer, error) {
	index, err := x.chosen(r.Index)
	if err != nil {
		return nil, err
	}
	n := len(index)
	if len(r.Actions) != n {
		return nil, fmt.Errorf("%w: %d actions for %d environments", ErrRequest, len(r.Actions), n)
	}
	a := &Answer{Obs: make([]envs.Obs, n), Reward: make([]float64, n), Terminated: make([]bool, n), Truncated: make([]bool, n)}
	for k, i := range index {
		st, err := x.envs[i].Step(ctx, action(r.Actions[k]))
		if err != nil {
			return nil, fmt.Errorf("environment %d (those before it were stepped): %w", i, err)
		}
		x.steps[i]++
		a.Obs[k], a.Reward[k], a.Terminated[k], a.Truncated[k] = st.Obs, st.Reward, st.Terminated, st.Truncated
		info := Info{Extra: st.Info.Extra}
		if st.Done() {
			won := st.Info.Success()
			info.Success, info.Steps = &won, x.steps[i]
			if x.autoreset {
				info.FinalObs = st.Obs
				obs, fresh, err := x.envs[i].Reset(ctx, envs.ResetOptions{})
				if err != nil {
					return nil, fmt.Errorf("environment %d: reset after its end: %w", i, err)
				}
				a.Obs[k], info.Extra, x.steps[i] = obs, fresh.Extra, 0
			}
		}
		a.tell(k, info)
	}
	return a, nil
}

// action turns a list of numbers into what continuous environments take.
func action(v any) envs.Action {
	l, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]float32, len(l))
	for i, x := range l {
		f, ok := x.(float64)
		if !ok {
			return v // the environment says what it wants
		}
		out[i] = float32(f)
	}
	return out
}

func (x *session) close() error {
	var err error
	for _, e := range x.envs {
		err = errors.Join(err, e.Close())
	}
	return err
}

// Close closes all sessions.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for id, x := range s.sessions {
		err = errors.Join(err, x.close())
		delete(s.sessions, id)
	}
	return err
}

// maxLine bounds a request: 4096 actions of a kilobyte.
const maxLine = 8 << 20

// Pipe answers requests from in on out, one a line, until in ends or ctx does. A line
// that is no request gets an answer with an error, as any other.
func (s *Server) Pipe(ctx context.Context, in io.Reader, out io.Writer) error {
	b := bufio.NewReaderSize(in, 1<<16)
	w := bufio.NewWriterSize(out, 1<<16)
	last := ""
	for {
		line, err := readLine(b)
		if len(bytes.TrimSpace(line)) > 0 {
			a := s.do(ctx, line, last)
			if a.Version != "" {
				last = a.Session
			}
			if err := encode(w, a); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("serve: reading requests: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, more, err := b.ReadLine()
		line = append(line, part...)
		if err != nil {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		if !more {
			return line, nil
		}
	}
}

func encode(w *bufio.Writer, a *Answer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(a); err != nil {
		return fmt.Errorf("serve: answering: %w", err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("serve: answering: %w", err)
	}
	return nil
}
