package serve

import (
	"bufio"
	"io"
	"mime"
	"net"
	"net/http"
)

// Handler answers POST /v1 with a request as the body. It serves this machine alone:
// a request that names another host, or comes from a web page, is refused, so that no
// site that is open in a browser can play (or, by DNS rebinding, read).
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1", func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host) || r.Header.Get("Origin") != "" {
			http.Error(w, `{"error": "serve: only programs on this machine may ask"}`, http.StatusForbidden)
			return
		}
		if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
			http.Error(w, `{"error": "serve: send Content-Type: application/json"}`, http.StatusUnsupportedMediaType)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
		if err != nil {
			http.Error(w, `{"error": "serve: the request is too long or was cut off"}`, http.StatusBadRequest)
			return
		}
		a := s.Do(r.Context(), body)
		w.Header().Set("Content-Type", "application/json")
		if a.Error != "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = encode(bufio.NewWriter(w), a) // the client has gone: nobody to tell
	})
	return mux
}

// local reports whether a Host header names this machine.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
