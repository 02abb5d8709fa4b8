//go:build !viewer && !js

package window

import "github.com/muse-agent/muse/viewer"

// Run returns ErrNotBuilt.
func Run(*viewer.App, Options) error { return ErrNotBuilt }
