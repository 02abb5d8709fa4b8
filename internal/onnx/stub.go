//go:build !cgo || !native

package onnx

import "fmt"

// Available says whether this program was built with the native parts.
const Available = false

// Session is a loaded model; in this build it can't be made.
type Session struct{}

func unavailable() error {
	return fmt.Errorf("%w: this program was built without it; run 'make deps', then build with -tags native", ErrUnavailable)
}

// Library reports that this build has no native library.
func Library() (path, version string, err error) { return "", "", unavailable() }

// OpenFile returns an error that matches ErrUnavailable.
func OpenFile(string, Options) (*Session, error) { return nil, unavailable() }

// OpenBytes returns an error that matches ErrUnavailable.
func OpenBytes(string, []byte, Options) (*Session, error) { return nil, unavailable() }

// Inputs returns nil.
func (*Session) Inputs() []ValueInfo { return nil }

// Outputs returns nil.
func (*Session) Outputs() []ValueInfo { return nil }

// Metadata returns nil.
func (*Session) Metadata() map[string]string { return nil }

// Run returns an error that matches ErrUnavailable.
func (*Session) Run(in, out []Tensor) error { return unavailable() }

// Close does nothing.
func (*Session) Close() error { return nil }
