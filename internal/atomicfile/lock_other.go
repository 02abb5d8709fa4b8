//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package atomicfile

import "os"

func tryLock(*os.File) error    { return nil }
func lockWait(*os.File) error   { return nil }
func unlockFile(*os.File) error { return nil }
