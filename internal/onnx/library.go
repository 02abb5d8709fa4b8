//go:build cgo && native

package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// Available says whether this program was built with the native parts.
const Available = true

// minMinor is the oldest ONNX Runtime 1.x that speaks the C API version of the
// Go binding's header.
const minMinor = 24

// LibEnv names the variable that points at the ONNX Runtime library file.
const LibEnv = "MUSE_ORT_LIB"

var library struct {
	once          sync.Once
	path, version string
	err           error
}

// Library loads the ONNX Runtime library on its first call and reports which
// one. Places, in order: the file named by MUSE_ORT_LIB; lib/ of the folder
// that `make deps` fills (see [FindDeps]); beside the program; the system's
// own search path. It is loaded once a process and never unloaded.
func Library() (path, version string, err error) {
	library.once.Do(func() {
		library.path, library.err = load()
		if library.err == nil {
			library.version = ort.GetVersion()
		}
	})
	return library.path, library.version, library.err
}

func load() (string, error) {
	candidates, tried := candidateLibraries()
	var why []string
	for _, p := range candidates {
		ort.SetSharedLibraryPath(p)
		// Errors are returned; the library need not print them as well.
		err := ort.InitializeEnvironment(ort.WithLogLevelFatal())
		if err == nil {
			return p, nil
		}
		if strings.Contains(err.Error(), "API base") {
			err = fmt.Errorf("%s is older than ONNX Runtime 1.%d", p, minMinor)
		}
		why = append(why, err.Error())
	}
	return "", fmt.Errorf("%w: no usable ONNX Runtime ≥ 1.%d; run 'make deps', or set %s to the library file (looked in %s; %s)",
		ErrUnavailable, minMinor, LibEnv, strings.Join(tried, ", "), strings.Join(why, "; "))
}

// candidateLibraries lists existing files, best first, then the bare names that
// the system's loader resolves.
func candidateLibraries() (files, tried []string) {
	if p := os.Getenv(LibEnv); p != "" {
		return []string{p}, []string{LibEnv + "=" + p} // an explicit choice is never overruled
	}
	var dirs []string
	if d, t := FindDeps("lib"); d != "" {
		dirs = append(dirs, d)
	} else {
		tried = append(tried, t...)
	}
	if exe, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(exe), filepath.Join(filepath.Dir(exe), "lib"))
	}
	for _, d := range dirs {
		tried = append(tried, d)
		best, bestMinor := "", -1
		found, _ := filepath.Glob(filepath.Join(globEscape(d), "libonnxruntime.so*"))
		for _, f := range found {
			if m := minor(f); m > bestMinor {
				best, bestMinor = f, m
			}
		}
		if best != "" {
			files = append(files, best)
		}
	}
	return append(files, "libonnxruntime.so.1", "libonnxruntime.so"), append(tried, "the system")
}

// minor reads 24 from "libonnxruntime.so.1.24.4", 0 where it isn't said.
func minor(file string) int {
	_, v, _ := strings.Cut(filepath.Base(file), ".so.1.")
	v, _, _ = strings.Cut(v, ".")
	n, _ := strconv.Atoi(v)
	return n
}

func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
