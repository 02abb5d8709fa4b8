package jsonl

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

type rec struct {
	A int    `json:"a"`
	S string `json:"s,omitempty"`
}

func write(t *testing.T, b []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "f.jsonl")
	if err := os.WriteFile(p, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []rec
		cut  int64
		err  string
	}{
		"plain":                  {"{\"a\":1}\n{\"a\":2}\n", []rec{{A: 1}, {A: 2}}, 0, ""},
		"empty":                  {"", nil, 0, ""},
		"blank lines":            {"\n{\"a\":1}\n\n\n", []rec{{A: 1}}, 0, ""},
		"windows":                {"{\"a\":1}\r\n{\"a\":2}\r\n", []rec{{A: 1}, {A: 2}}, 0, ""},
		"no last newline":        {"{\"a\":1}\n{\"a\":2}", []rec{{A: 1}, {A: 2}}, 0, ""},
		"cut":                    {"{\"a\":1}\n{\"a\":2", []rec{{A: 1}}, 6, ""},
		"cut in the first":       {"{\"a", nil, 3, ""},
		"broken last, newline":   {"{\"a\":1}\n{\"a\":2\n", nil, 0, "f.jsonl:2: "},
		"broken middle":          {"{\"a\":1}\n\noops\n{\"a\":2}\n", nil, 0, "f.jsonl:3: "},
		"wrong type":             {"{\"a\":\"x\"}\n", nil, 0, "f.jsonl:1: "},
		"two records in a line":  {"{\"a\":1}{\"a\":2}\n", nil, 0, "text after the record"},
		"cut-off bare number":    {"1\n", nil, 0, "f.jsonl:1: "},
		"zeros after power loss": {"{\"a\":1}\n\x00\x00\x00", []rec{{A: 1}}, 3, ""},
	} {
		for _, b := range [][]byte{[]byte(c.in), zip([]byte(c.in))} {
			got, cut, err := readAll[rec](write(t, b))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: error %v, want %q in it", name, err, c.err)
				}
				continue
			}
			if err != nil || !slices.Equal(got, c.want) || cut != c.cut {
				t.Errorf("%s: got %v, cut %d, %v; want %v, %d", name, got, cut, err, c.want, c.cut)
			}
		}
	}
}

func TestReadCutGzipIsAnError(t *testing.T) {
	b := zip([]byte(strings.Repeat("{\"a\":1}\n", 1000)))
	_, _, err := readAll[rec](write(t, b[:len(b)-4]))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("error %v", err)
	}
}

func TestReaderLimits(t *testing.T) {
	r, _ := NewReader("f", strings.NewReader("{\"a\":1}\n{\"a\":1,\"s\":\""+strings.Repeat("x", 200)+"\"}\n"))
	r.MaxLine = 100
	var v rec
	if err := r.Next(&v); err != nil || r.Line() != 1 || r.Offset() != 0 {
		t.Fatalf("%v, line %d", err, r.Line())
	}
	err := r.Next(&v)
	if err == nil || !strings.Contains(err.Error(), "f:2: line is longer") {
		t.Errorf("long line: %v", err)
	}
	if again := r.Next(&v); again != err {
		t.Errorf("after an error: %v", again)
	}
	r, _ = NewReader("f", strings.NewReader("{\"a\":1,\"b\":2}\n"))
	r.Strict = true
	if err := r.Next(&v); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("unknown field: %v", err)
	}
}

func TestAppend(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		cut           int64
	}{
		"new":        {"", "", 0},
		"whole":      {"{\"a\":1}\n", "{\"a\":1}\n", 0},
		"cut":        {"{\"a\":1}\n{\"a\"", "{\"a\":1}\n", 4},
		"only cut":   {"{\"a\"", "", 4},
		"no newline": {"{\"a\":1}", "{\"a\":1}\n", 0},
		"long cut":   {"{\"a\":1}\n{\"s\":\"" + strings.Repeat("x", 200_000), "{\"a\":1}\n", 200_006},
	} {
		p := write(t, []byte(c.before))
		w, cut, err := Append(p)
		if err != nil || cut != c.cut || w.Offset() != int64(len(c.after)) {
			t.Errorf("%s: cut %d, offset %d, %v", name, cut, w.Offset(), err)
			continue
		}
		if err := w.Write(rec{A: 9, S: "> go & <see>"}); err != nil {
			t.Error(err)
		}
		want := c.after + "{\"a\":9,\"s\":\"> go & <see>\"}\n"
		if got, _ := os.ReadFile(p); string(got) != want { // before Close: a kill loses nothing
			t.Errorf("%s: file is %q, want %q", name, got, want)
		}
		if err := errors.Join(w.Sync(), w.Close(), w.Close()); err != nil {
			t.Error(err)
		}
		if err := w.Write(rec{}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("write after Close: %v", err)
		}
	}
	if _, _, err := Append(write(t, zip(nil))); err == nil {
		t.Error("gzip file was opened for appending")
	}
}

func TestWriterConcurrent(t *testing.T) {
	p := filepath.Join(t.TempDir(), "f.jsonl")
	w, _, err := Append(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec{}, func() {}); err == nil || w.Offset() != 0 {
		t.Errorf("a func was written, or the record before it: %v, %d bytes", err, w.Offset())
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < 50; i += 2 {
				if err := w.Write(rec{A: g*50 + i, S: strings.Repeat("y", i)}, rec{A: g*50 + i + 1, S: "next"}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	w.Close()
	sum, n, before := 0, 0, 0
	for v, err := range All[rec](p) {
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 1 && (v.S != "next" || v.A != before+1) {
			t.Errorf("record %d is %+v: the two of one Write were torn apart", n, v)
		}
		before = v.A
		sum += v.A
		n++
	}
	if n != 200 || sum != 199*200/2 {
		t.Errorf("%d records, sum %d", n, sum)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"{\"a\":1}\n{\"a\":2", "\n\n[1]\n", "\x1f\x8b", "{}{}\n", string(zip([]byte("{\"a\":1}\n")))} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader("f", bytes.NewReader(b))
		if err != nil {
			return
		}
		last := int64(-1)
		for {
			var v any
			if err := r.Next(&v); err != nil {
				return
			}
			if r.Offset() <= last {
				t.Fatalf("offset %d after %d", r.Offset(), last)
			}
			last = r.Offset()
		}
	})
}

func ExampleAll() {
	dir, _ := os.MkdirTemp("", "jsonl")
	defer os.RemoveAll(dir)
	p := filepath.Join(dir, "f.jsonl")
	os.WriteFile(p, []byte("{\"a\":1}\n{\"a\":2}\n{\"a\":"), 0o644) // the writer was killed
	for v, err := range All[struct{ A int }](p) {
		fmt.Println(v, err)
	}
	// Output:
	// {1} <nil>
	// {2} <nil>
}

// readAll returns all records of a file and the length of a cut-off last line.
func readAll[T any](path string) (all []T, cut int64, err error) {
	r, err := Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	for {
		var v T
		switch err := r.Next(&v); err {
		case nil:
			all = append(all, v)
		case io.EOF:
			return all, r.Cut(), nil
		default:
			return nil, 0, err
		}
	}
}
