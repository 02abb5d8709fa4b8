package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked: another process works in the folder.
var ErrLocked = errors.New("train: the folder is in use")

// writeFile replaces path atomically.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	_, werr := f.Write(data)
	err = errors.Join(werr, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("train: writing %s: %w", path, err)
	}
	return nil
}

// lockDir takes the folder's lock until unlock is called or the process ends.
func lockDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("train: run folder: %w (choose another with --out)", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %s (wait for the other process, or choose another folder with --out)", ErrLocked, path)
	}
	return f.Close, nil
}
