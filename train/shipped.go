package train

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muse-agent/muse/internal/jsonl"
)

//go:embed data
var shipped embed.FS

// ShippedSiblings returns the sibling states that ship for an embedded model
// ("base" or "embedded/base"); ok is false where there are none.
func ShippedSiblings(model string) (gs []*SiblingGame, ok bool, err error) {
	name := "data/siblings-" + strings.TrimPrefix(model, "embedded/") + ".jsonl.gz"
	b, err := shipped.ReadFile(name)
	if err != nil {
		return nil, false, nil // not shipped
	}
	r, err := jsonl.NewReader(name, bytes.NewReader(b))
	if err != nil {
		return nil, false, fmt.Errorf("train: %w", err)
	}
	defer r.Close()
	for {
		line, err := r.Raw()
		if errors.Is(err, io.EOF) {
			return gs, true, nil
		} else if err != nil {
			return nil, false, fmt.Errorf("train: %w", err)
		}
		g := new(SiblingGame)
		if err := json.Unmarshal(line, g); err != nil {
			return nil, false, fmt.Errorf("train: %s: %w", name, err)
		}
		if g.Format != SiblingFormat {
			return nil, false, fmt.Errorf("%w: %s has %q", ErrVersion, name, g.Format)
		}
		gs = append(gs, g)
	}
}
