package hftok

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Vocab maps ids to surfaces. Safe for concurrent reading.
type Vocab struct {
	surfaces []string
	ids      map[string]int32
	special  map[int32]bool
}

// ReadVocab reads the vocabulary of a tokenizer.json: the model's own entries
// (WordLevel, WordPiece, BPE: a map from surface to id) and the added tokens,
// which win where both name an id.
func ReadVocab(tokenizerJSON []byte) (*Vocab, error) {
	var file struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Model struct {
			Vocab map[string]int32 `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(tokenizerJSON, &file); err != nil {
		return nil, fmt.Errorf("hftok: vocabulary of tokenizer.json: %w", err)
	}
	const most = 1 << 22 // larger ids are a mistake in the file, not a vocabulary
	top := int32(-1)
	check := func(s string, id int32) error {
		if id < 0 || id >= most {
			return fmt.Errorf("hftok: tokenizer.json gives %q the id %d", s, id)
		}
		top = max(top, id)
		return nil
	}
	for s, id := range file.Model.Vocab {
		if err := check(s, id); err != nil {
			return nil, err
		}
	}
	for _, a := range file.Added {
		if err := check(a.Content, a.ID); err != nil {
			return nil, err
		}
	}
	if top < 0 {
		return nil, errors.New("hftok: tokenizer.json has an empty vocabulary")
	}
	v := &Vocab{surfaces: make([]string, top+1), ids: make(map[string]int32, top+1), special: map[int32]bool{}}
	seen := make([]bool, top+1)
	for s, id := range file.Model.Vocab {
		if seen[id] {
			return nil, fmt.Errorf("hftok: tokenizer.json gives the id %d to two entries", id)
		}
		seen[id], v.surfaces[id], v.ids[s] = true, s, id
	}
	for _, a := range file.Added {
		if seen[a.ID] && v.surfaces[a.ID] != a.Content {
			return nil, fmt.Errorf("hftok: tokenizer.json: added token %q has the id %d of %q", a.Content, a.ID, v.surfaces[a.ID])
		}
		seen[a.ID], v.surfaces[a.ID], v.ids[a.Content] = true, a.Content, a.ID
		if a.Special {
			v.special[a.ID] = true
		}
	}
	return v, nil
}

// Len returns one more than the largest id.
func (v *Vocab) Len() int { return len(v.surfaces) }

// Surface returns the text of an id; "" for an id that isn't used.
func (v *Vocab) Surface(id int32) string {
	if id < 0 || int(id) >= len(v.surfaces) {
		return ""
	}
	return v.surfaces[id]
}

// ID returns the id of a surface.
func (v *Vocab) ID(surface string) (int32, bool) {
	id, ok := v.ids[surface]
	return id, ok
}

// Special says whether the id is a special token, which is not part of any text.
func (v *Vocab) Special(id int32) bool { return v.special[id] }

// Text concatenates the surfaces of ids. It is the inverse of Encode for
// vocabularies whose surfaces carry their own spaces and newlines.
func (v *Vocab) Text(ids []int32) string {
	n := 0
	for _, id := range ids {
		n += len(v.Surface(id))
	}
	b := make([]byte, 0, n)
	for _, id := range ids {
		b = append(b, v.Surface(id)...)
	}
	return string(b)
}
