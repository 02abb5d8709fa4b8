package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"unicode"
)

// output is standard output. It remembers the first failed write, as no command looks
// at what Fprintf returns: a full disk must not pass for success.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

// result is the error of a command, with that of its output. A reader that closes the
// pipe early (head) has seen enough: no failure.
func (o *output) result(err error) error {
	switch {
	case errors.Is(o.err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE)):
		return nil
	case err == nil && o.err != nil:
		return fmt.Errorf("standard output: %w", o.err)
	}
	return err
}

// oneLine is the message of an error on one line of bounded length: joined errors and
// text of files and servers may have many.
func oneLine(err error) string {
	const most = 2000
	var parts []string
	// Control characters are left out too: a server must not steer the terminal.
	for _, s := range strings.FieldsFunc(err.Error(), unicode.IsControl) {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	s := strings.Join(parts, "; ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + " …"
	}
	return s
}
