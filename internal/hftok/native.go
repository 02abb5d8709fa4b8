//go:build cgo && native

package hftok

// #cgo LDFLAGS: -L${SRCDIR}/../../.deps/lib
import "C"

import (
	"errors"
	"fmt"
	"sync"

	"github.com/daulet/tokenizers"
)

// Available says whether this program was built with the native parts.
const Available = true

// Tokenizer encodes text. Safe for concurrent use.
type Tokenizer struct {
	vocab *Vocab
	mu    sync.RWMutex // held for reading while encoding, for writing while closing
	t     *tokenizers.Tokenizer
}

// Open makes a tokenizer from the bytes of a tokenizer.json.
func Open(tokenizerJSON []byte, o Options) (*Tokenizer, error) {
	if o.MaxLen < 0 {
		return nil, fmt.Errorf("hftok: MaxLen is %d, want ≥ 0", o.MaxLen)
	}
	b, err := repair(tokenizerJSON, o.StripPadding)
	if err != nil {
		return nil, err
	}
	vocab, err := ReadVocab(b)
	if err != nil {
		return nil, err
	}
	var t *tokenizers.Tokenizer
	if o.MaxLen > 0 {
		t, err = tokenizers.FromBytesWithTruncation(b, uint32(o.MaxLen), tokenizers.TruncationDirectionRight)
	} else {
		t, err = tokenizers.FromBytes(b)
	}
	if err != nil {
		return nil, fmt.Errorf("hftok: tokenizer.json: %w", err)
	}
	return &Tokenizer{vocab: vocab, t: t}, nil
}

// Encode returns the ids of text; special adds the special tokens that the
// file's post-processor orders. NUL bytes are left out and invalid UTF-8 is
// read as U+FFFD. The slice is the caller's.
func (t *Tokenizer) Encode(text string, special bool) ([]int32, error) {
	text = clean(text)
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.t == nil {
		return nil, ErrClosed
	}
	enc := t.t.EncodeWithOptions(text, special)
	ids := make([]int32, len(enc.IDs))
	for i, id := range enc.IDs {
		ids[i] = int32(id)
	}
	if len(ids) == 0 && text != "" && !blank(text) {
		return nil, errors.New("hftok: the tokenizer gave no tokens for a non-empty text")
	}
	return ids, nil
}

func blank(s string) bool {
	for _, r := range s {
		if r > ' ' {
			return false
		}
	}
	return true
}

// Vocab returns the vocabulary.
func (t *Tokenizer) Vocab() *Vocab { return t.vocab }

// Close frees the tokenizer once running calls have ended. Closing twice is fine.
func (t *Tokenizer) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.t == nil {
		return nil
	}
	err := t.t.Close()
	t.t = nil
	return err
}
