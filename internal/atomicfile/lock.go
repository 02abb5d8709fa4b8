package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrLocked is matched by the error of LockDir when another process holds the lock.
var ErrLocked = errors.New("folder is in use")

// LockName is the file inside a locked folder.
const LockName = ".lock"

// LockedError says who holds a lock.
type LockedError struct {
	Dir string
	PID int // 0 when the holder has not written it yet
}

// Error names the folder, the process and the next step.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("folder %s is in use by %s; wait for it, stop it, or choose another folder", e.Dir, who)
}

// Is matches ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// Lock is a held lock.
type Lock struct{ f *os.File }

// LockDir takes the lock of a folder or fails at once with an error that
// matches ErrLocked. The operating system drops the lock when its holder ends,
// however it ends, so a dead process never blocks a folder. The lock is
// advisory: it binds those who ask for it. Systems without flock don't lock.
func LockDir(dir string) (*Lock, error) {
	path := filepath.Join(dir, LockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking folder %s: %w", dir, err)
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		if !errors.Is(err, ErrLocked) {
			return nil, fmt.Errorf("locking folder %s: %w", dir, err)
		}
		b := make([]byte, 32)
		n, _ := f.ReadAt(b, 0)
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b[:n])))
		return nil, &LockedError{Dir: dir, PID: pid}
	}
	// The number only serves the message above; the lock itself is the kernel's.
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("locking folder %s: %w", dir, errors.Join(err, f.Close()))
	}
	return &Lock{f: f}, nil
}

// Close gives the lock back. The lock file stays, as removing it would let two
// processes lock two files of one name. Closing twice is fine.
func (l *Lock) Close() error {
	if l == nil || l.f == nil {
		return nil
	}
	err := errors.Join(l.f.Truncate(0), l.f.Close())
	l.f = nil
	return err
}

// LockFile waits for an exclusive lock on an open file, for short turns between
// processes that write to it; unlock ends the turn. It does not order the
// goroutines that share one *os.File.
func LockFile(f *os.File) (unlock func() error, err error) {
	if err := lockWait(f); err != nil {
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return func() error { return unlockFile(f) }, nil
}
