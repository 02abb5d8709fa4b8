package serve

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed ui
var files embed.FS

// policy lets the page load nothing from elsewhere, and run no script but its own
// file: text of models can't become code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ui adds the page: / and its files, /ui/about, and /ui/ask, which answers by events.
func (s *Server) ui(mux *http.ServeMux) {
	sub, err := fs.Sub(files, "ui")
	if err != nil {
		panic(err) // embedded at build time
	}
	static := http.FileServerFS(sub)
	page := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		static.ServeHTTP(w, r)
	}
	mux.HandleFunc("GET /{$}", page)
	mux.HandleFunc("GET /page.js", page)
	mux.HandleFunc("GET /page.css", page)
	mux.HandleFunc("GET /ui/about", s.guarded(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, 200, map[string]any{"model": s.o.Model, "about": s.o.About})
	}))
	mux.HandleFunc("POST /ui/ask", s.guarded(s.watch))
}

// watch answers one conversation by events {"kind": …, "value": …}; the last one is
// "answer" or "error".
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	_, q, ok := s.parse(w, r)
	if !ok {
		return
	}
	ctx, leave := s.enter(w, r)
	if leave == nil {
		return
	}
	defer leave()
	e := newEvents(w)
	q.Watch = func(kind string, v any) { e.send(map[string]any{"kind": kind, "value": v}) }
	a, err := s.alive(ctx, e, q)
	if err != nil {
		e.send(map[string]any{"kind": "error", "value": err.Error()})
		return
	}
	e.send(map[string]any{"kind": "answer", "value": map[string]any{"text": a.Text, "finish": a.finish(), "usage": usage(a.Usage), "muse": a.Extension}})
}
