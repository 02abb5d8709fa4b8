//go:build !cgo || !native

package hftok

import "fmt"

// Available says whether this program was built with the native parts.
const Available = false

// Tokenizer can't be made in this build.
type Tokenizer struct{}

// Open returns an error that matches ErrUnavailable.
func Open([]byte, Options) (*Tokenizer, error) {
	return nil, fmt.Errorf("%w: this program was built without it; run 'make deps', then build with -tags native", ErrUnavailable)
}

// Encode returns ErrClosed.
func (*Tokenizer) Encode(string, bool) ([]int32, error) { return nil, ErrClosed }

// Vocab returns nil.
func (*Tokenizer) Vocab() *Vocab { return nil }

// Close does nothing.
func (*Tokenizer) Close() error { return nil }
