//go:build !cgo || !native

package embedded

import (
	"fmt"

	"github.com/muse-agent/muse/internal/llm"
)

// Available says whether this program was built with the native parts.
const Available = false

// Open returns an error that matches llm.ErrUnavailable.
func Open(nameOrDir string, _ Options) (llm.Model, error) {
	return nil, fmt.Errorf("embedded model %q: %w: this program was built without the native libraries; run 'make deps', then build with -tags native", nameOrDir, llm.ErrUnavailable)
}
