package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMain lets the test binary play the other process: it locks a folder,
// says so, and holds the lock until its input ends.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ATOMICFILE_TEST_HOLD"); dir != "" {
		if _, err := LockDir(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("folder holds %v, want %v", got, want)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "a.json")
	for _, text := range []string{"one", "", "three and longer"} {
		if err := WriteFile(p, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(p)
		if err != nil || string(b) != text {
			t.Errorf("got %q, %v; want %q", b, err, text)
		}
	}
	if st, _ := os.Stat(p); st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", st.Mode())
	}
	only(t, dir, "a.json")
}

func TestWriteFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "a")
	if err := WriteFile(p, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Write(p, 0o644, func(w io.Writer) error {
		io.WriteString(w, "half of the new")
		return boom
	})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), p) {
		t.Errorf("error %v", err)
	}
	if b, _ := os.ReadFile(p); string(b) != "old" {
		t.Errorf("content is now %q", b)
	}
	only(t, dir, "a")
	sub := filepath.Join(dir, "none", "b")
	if err := WriteFile(sub, nil, 0o644); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), sub) {
		t.Errorf("missing folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "d"), nil, 0o644); err == nil {
		t.Error("a folder was overwritten")
	}
	only(t, dir, "a", "d")
}

func TestLockDir(t *testing.T) {
	dir := t.TempDir()
	l, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockDir(dir)
	var held *LockedError
	if !errors.Is(err, ErrLocked) || !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Fatalf("second lock: %v", err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	l, err = LockDir(dir)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	l.Close()
	if _, err := LockDir(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestLockOfAKilledProcessIsFree(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ATOMICFILE_TEST_HOLD="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child said %q", line)
	}
	_, err = LockDir(dir)
	if want := fmt.Sprintf("process %d", cmd.Process.Pid); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), want) {
		t.Errorf("while held: %v, want %q in it", err, want)
	}
	cmd.Process.Kill()
	cmd.Wait()
	l, err := LockDir(dir)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	l.Close()
}

func TestLockFileTakesTurns(t *testing.T) {
	p := filepath.Join(t.TempDir(), "counter")
	var wg sync.WaitGroup
	for range 4 {
		f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o644) // an open file of its own, as a process has
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				unlock, err := LockFile(f)
				if err != nil {
					t.Error(err)
					return
				}
				st, _ := f.Stat()
				f.WriteAt([]byte{'x'}, st.Size())
				if err := unlock(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if st, _ := os.Stat(p); st.Size() != 200 {
		t.Errorf("%d bytes, want 200: turns overlapped", st.Size())
	}
}

func ExampleWriteFile() {
	dir, _ := os.MkdirTemp("", "atomicfile")
	defer os.RemoveAll(dir)
	p := filepath.Join(dir, "metrics.json")
	fmt.Println(WriteFile(p, []byte("{}\n"), 0o644))
	_, err := LockDir(dir)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}
