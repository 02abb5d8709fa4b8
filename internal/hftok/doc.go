// Package hftok turns text into token ids by a tokenizer.json file, through the
// tokenizers library.
//
//	tk, err := hftok.Open(jsonBytes, hftok.Options{MaxLen: 256, StripPadding: true})
//	ids, err := tk.Encode("hello world", true) // 101 7592 2088 102
//
// It repairs what the library leaves open: padding and truncation that the file
// itself orders, ids of added tokens, text cut off at a NUL byte, and empty
// results in place of errors. The vocabulary is read from the JSON in plain Go ([ReadVocab]), so
// that a generator can turn ids back into text without the library.
//
// The library is linked with the build tag "native"; without it [Open] returns
// an error that matches [ErrUnavailable].
package hftok

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrUnavailable is matched by the error of Open in a build without the library.
var ErrUnavailable = errors.New("hftok: tokenizers library is unavailable")

// ErrClosed is returned by Encode on a closed tokenizer.
var ErrClosed = errors.New("hftok: tokenizer is closed")

// Options configures a tokenizer.
type Options struct {
	// MaxLen cuts longer texts on the right, in tokens, special ones included
	// (a closing special token is kept). 0 means no limit.
	MaxLen int
	// StripPadding removes the padding that the file orders. The truncation that
	// the file orders is always replaced by MaxLen.
	StripPadding bool
}

// repair returns the JSON without its own truncation and, if asked, padding,
// and with the added tokens in the model's vocabulary: the library ignores the
// ids that the file gives to added tokens it doesn't find there, and counts on
// from the size of the vocabulary.
func repair(b []byte, strip bool) ([]byte, error) {
	var m, model map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("hftok: tokenizer.json: %w", err)
	}
	if m["model"] == nil {
		return nil, errors.New("hftok: tokenizer.json has no \"model\": not a tokenizer file")
	}
	if err := json.Unmarshal(m["model"], &model); err != nil {
		return nil, fmt.Errorf("hftok: model of tokenizer.json: %w", err)
	}
	v, err := ReadVocab(b)
	if err != nil {
		return nil, err
	}
	if model["vocab"], err = json.Marshal(v.ids); err != nil {
		return nil, err
	}
	if m["model"], err = json.Marshal(model); err != nil {
		return nil, err
	}
	m["truncation"] = json.RawMessage("null")
	if strip {
		m["padding"] = json.RawMessage("null")
	}
	return json.Marshal(m)
}

// clean removes NUL bytes, where the library's C strings would end, and
// replaces invalid UTF-8 by U+FFFD, which it would drop or refuse.
func clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
