package main

import (
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muse-agent/muse/viewer"
)

var (
	//go:embed watch.html
	watchPage []byte
	//go:embed watch.js
	watchStart []byte
)

// Files of the browser's viewer, as `make viewer` puts them.
const (
	webFolder = "viewer-web"
	webWasm   = "viewer.wasm.gz"
	webExec   = "wasm_exec.js"
)

// watchHTTP serves the viewer and the run until it is interrupted.
func (a *app) watchHTTP(ctx context.Context, path string, f watchFlags) error {
	web, err := findWeb(f.web)
	if err != nil {
		return err
	}
	run, err := viewer.Open(path, viewer.OpenOptions{Progress: a.indexProgress(path)})
	if err != nil {
		return err
	}
	defer run.Close()
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return fmt.Errorf("--addr %s: %w (another port, or 127.0.0.1:0 for a free one)", f.addr, err)
	}
	local := isLocal(l.Addr())
	if !local {
		a.say("warning: %s can be reached from the network: whoever opens it sees the run", l.Addr())
	}
	s := &http.Server{
		Handler:           newWatchHandler(run, web, f, local),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	fmt.Fprintf(a.stdout, "http://%s/\n", l.Addr())
	a.say("open the address in a browser; control-C ends")
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := s.Shutdown(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil // an interrupt is how this command ends
	}
}

func isLocal(addr net.Addr) bool {
	t, ok := addr.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// findWeb returns the folder with the browser's viewer.
func findWeb(given string) (string, error) {
	var tried []string
	if given != "" {
		tried = []string{given}
	} else if self, err := os.Executable(); err == nil {
		dir := filepath.Dir(self)
		tried = []string{filepath.Join(dir, webFolder), filepath.Join(dir, "bin", webFolder)}
	}
	tried = append(tried, filepath.Join("bin", webFolder))
	if given != "" {
		tried = tried[:1]
	}
	for _, dir := range tried {
		if isRegular(filepath.Join(dir, webWasm)) && isRegular(filepath.Join(dir, webExec)) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the browser's viewer is not in %s: run `make viewer`, or name its folder with --web", strings.Join(tried, " or "))
}

func isRegular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// watchHandler answers a page, its program, and the run. It writes nothing and reads no
// file but those three and the run's.
type watchHandler struct {
	run   *viewer.Run
	web   string
	flags watchFlags
	local bool
	mux   *http.ServeMux
}

func newWatchHandler(run *viewer.Run, web string, f watchFlags, local bool) *watchHandler {
	h := &watchHandler{run: run, web: web, flags: f, local: local, mux: http.NewServeMux()}
	h.mux.HandleFunc("GET /{$}", h.page)
	h.mux.HandleFunc("GET /"+webExec, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		http.ServeFile(w, r, filepath.Join(web, webExec))
	})
	h.mux.HandleFunc("GET /start.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(watchStart)
	})
	h.mux.HandleFunc("GET /viewer.wasm", h.wasm)
	h.mux.HandleFunc("GET /api/settings", h.settings)
	h.mux.HandleFunc("GET /api/list", h.list)
	h.mux.HandleFunc("GET /api/episode/{i}", h.episode)
	return h
}

// ServeHTTP refuses foreign host names on a local address, so that no page elsewhere can
// have the run read to it under a name of its own, and forbids the page all other sources.
func (h *watchHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.local && !localHost(r.Host) {
		http.Error(w, "this address is for this machine only", http.StatusForbidden)
		return
	}
	hd := w.Header()
	hd.Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	hd.Set("X-Content-Type-Options", "nosniff")
	hd.Set("Referrer-Policy", "no-referrer")
	hd.Set("Cross-Origin-Resource-Policy", "same-origin")
	hd.Set("Cache-Control", "no-store")
	h.mux.ServeHTTP(w, r)
}

func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (h *watchHandler) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(watchPage)
}

// wasm sends the program as it lies there, compressed; the browser unpacks it.
func (h *watchHandler) wasm(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/wasm")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		http.Error(w, "the viewer is sent compressed: the browser must accept gzip", http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	http.ServeFile(w, r, filepath.Join(h.web, webWasm))
}

func (h *watchHandler) settings(w http.ResponseWriter, r *http.Request) {
	h.json(w, r, map[string]any{"live": h.flags.live, "theme": h.flags.theme, "episode": h.flags.episode})
}

// runList is what /api/list answers.
type runList struct {
	Title       string               `json:"title"`
	Notice      string               `json:"notice,omitempty"`
	Entries     []viewer.Entry       `json:"entries"`
	Reliability []viewer.Reliability `json:"reliability"`
	Same        bool                 `json:"same,omitempty"` // nothing new: the lists are left out
}

// list answers the episodes; ?have=N asks for an answer without lists if there are still N.
func (h *watchHandler) list(w http.ResponseWriter, r *http.Request) {
	changed := false
	if h.flags.live {
		var err error
		if changed, err = h.run.Refresh(); err != nil {
			http.Error(w, viewer.Clean(err.Error()), http.StatusInternalServerError)
			return
		}
	}
	l := runList{Title: h.run.Title(), Notice: h.run.Notice(), Entries: h.run.Entries(), Reliability: h.run.Reliability()}
	if have := r.URL.Query().Get("have"); !changed && have == strconv.Itoa(len(l.Entries)) {
		l = runList{Title: l.Title, Notice: l.Notice, Same: true}
	}
	h.json(w, r, l)
}

func (h *watchHandler) episode(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.PathValue("i"))
	if err != nil {
		http.Error(w, "want the number of an episode, from 0", http.StatusBadRequest)
		return
	}
	line, err := h.run.Line(i)
	if err != nil {
		http.Error(w, viewer.Clean(err.Error()), http.StatusNotFound)
		return
	}
	h.send(w, r, line)
}

func (h *watchHandler) json(w http.ResponseWriter, r *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the run can't be written as JSON", http.StatusInternalServerError)
		return
	}
	h.send(w, r, b)
}

// send answers JSON, compressed where the browser takes it.
func (h *watchHandler) send(w http.ResponseWriter, r *http.Request, b []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if len(b) < 2048 || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(b)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return
	}
	_, _ = z.Write(b)
	_ = z.Close()
}
