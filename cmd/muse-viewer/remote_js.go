//go:build js

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"syscall/js"

	"github.com/muse-agent/muse/viewer"
)

// remote is a run on the server.
type remote struct {
	mu      sync.Mutex
	list    list
	next    *list // fetched, not yet shown
	asking  bool
	problem error
}

// list is what api/list answers.
type list struct {
	Title       string               `json:"title"`
	Notice      string               `json:"notice"`
	Entries     []viewer.Entry       `json:"entries"`
	Reliability []viewer.Reliability `json:"reliability"`
	Same        bool                 `json:"same"`
}

func newRemote() (*remote, error) {
	r := new(remote)
	return r, get("api/list", &r.list)
}

func (r *remote) Title() string                     { return r.list.Title }
func (r *remote) Entries() []viewer.Entry           { return r.list.Entries }
func (r *remote) Reliability() []viewer.Reliability { return r.list.Reliability }
func (r *remote) Notice() string                    { return r.list.Notice }

// Episode waits for the server: it is for a goroutine, not for the loop of the window.
func (r *remote) Episode(i int) (*viewer.Episode, error) {
	b, err := fetch(fmt.Sprintf("api/episode/%d", i))
	if err != nil {
		return nil, err
	}
	return viewer.Decode(b)
}

// Refresh must not wait: it asks in the background, and brings what was answered to an
// earlier question.
func (r *remote) Refresh() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	if r.next != nil {
		r.list.Notice = r.next.Notice
		if !r.next.Same {
			r.list, changed = *r.next, true
		}
		r.next = nil
	}
	err := r.problem
	if !r.asking {
		r.asking = true
		go r.ask(len(r.list.Entries))
	}
	return changed, err
}

func (r *remote) ask(have int) {
	l := new(list)
	err := get(fmt.Sprintf("api/list?have=%d", have), l)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking, r.problem = false, err
	if err == nil {
		r.next = l
	}
}

func get(path string, v any) error {
	b, err := fetch(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// fetch reads from the server, by the browser's own function: Go's HTTP client would make
// the program half as large again.
func fetch(path string) ([]byte, error) {
	type answer struct {
		b   []byte
		err error
	}
	done := make(chan answer, 1)
	var keep []js.Func
	fn := func(f func(v js.Value)) js.Func {
		x := js.FuncOf(func(_ js.Value, args []js.Value) any { f(args[0]); return nil })
		keep = append(keep, x)
		return x
	}
	defer func() {
		for _, f := range keep {
			f.Release()
		}
	}()
	fail := fn(func(v js.Value) {
		done <- answer{err: errors.New(path + ": " + v.Call("toString").String() + " (is muse watch still running?)")}
	})
	ok := true
	body := fn(func(v js.Value) {
		u := js.Global().Get("Uint8Array").New(v)
		b := make([]byte, u.Length())
		js.CopyBytesToGo(b, u)
		if !ok {
			done <- answer{err: errors.New(string(b))}
			return
		}
		done <- answer{b: b}
	})
	head := fn(func(v js.Value) {
		ok = v.Get("ok").Bool()
		v.Call("arrayBuffer").Call("then", body, fail)
	})
	js.Global().Call("fetch", path).Call("then", head, fail)
	a := <-done
	return a.b, a.err
}
