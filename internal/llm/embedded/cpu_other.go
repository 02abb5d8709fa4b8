//go:build !unix

package embedded

import "time"

// cpuTime is unknown here.
func cpuTime() time.Duration { return 0 }
