package llm

import "errors"

var (
	// ErrContext: the prefix plus the request does not fit into the model's context.
	ErrContext = errors.New("llm: context is full")
	// ErrUnavailable: built without native libraries, or the server can't be reached.
	ErrUnavailable = errors.New("llm: model is unavailable")
)
