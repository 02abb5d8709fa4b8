package serve

import (
	"encoding/json"
	"net/http"
	"sync"
)

// events writes server-sent events, each flushed. Safe for concurrent use; after a
// failed write (the client left) it stays silent.
type events struct {
	mu  sync.Mutex
	w   http.ResponseWriter
	c   *http.ResponseController
	err error
}

func newEvents(w http.ResponseWriter) *events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &events{w: w, c: http.NewResponseController(w)}
}

func (e *events) line(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return
	}
	if _, e.err = e.w.Write([]byte(s)); e.err == nil {
		e.err = e.c.Flush()
	}
}

func (e *events) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(errorBody("internal", "the event can't be written: "+err.Error()))
	}
	e.line("data: " + string(b) + "\n\n")
}
