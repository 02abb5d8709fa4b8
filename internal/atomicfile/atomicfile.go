// Package atomicfile writes files that are either wholly there or not there at
// all, and locks a folder for one process.
//
//	err := atomicfile.WriteFile("run/metrics.json", data, 0o644)
//
//	lock, err := atomicfile.LockDir("run")
//	defer lock.Close()
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile replaces path by data: a temporary file in the same folder is
// written, synced to disk and renamed over path, then the folder is synced. At
// any moment, also after a crash, path holds the old or the new content.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	return Write(path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write is WriteFile for content that fn produces. When fn fails, path is left
// as it was and fn's error is returned.
func Write(path string, perm os.FileMode, fn func(io.Writer) error) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	tmp, err := writeTemp(dir, base, perm, fn)
	if err == nil {
		if err = os.Rename(tmp, path); err == nil {
			err = SyncDir(dir)
		} else {
			err = errors.Join(err, os.Remove(tmp))
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// writeTemp leaves nothing behind when it fails.
func writeTemp(dir, base string, perm os.FileMode, fn func(io.Writer) error) (string, error) {
	f, err := os.CreateTemp(dir, "."+base+".tmp-*")
	if err != nil {
		return "", err
	}
	err = f.Chmod(perm)
	if err == nil {
		err = fn(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// SyncDir makes the names in a folder durable. Filesystems that can't do it are
// passed over.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrInvalid) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
