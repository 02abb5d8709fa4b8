package hftok

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// open skips where the library is missing, unless REQUIRE_NATIVE=1.
func open(t testing.TB, name string, o Options) *Tokenizer {
	t.Helper()
	tk, err := Open(read(t, name), o)
	if errors.Is(err, ErrUnavailable) && os.Getenv("REQUIRE_NATIVE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tk.Close() })
	return tk
}

func TestEncode(t *testing.T) {
	for name, c := range map[string]struct {
		o       Options
		text    string
		special bool
		want    []int32
	}{
		"plain":            {Options{StripPadding: true}, "go to desk 1", true, []int32{2, 4, 5, 6, 7, 3}},
		"no special":       {Options{StripPadding: true}, "go to desk 1", false, []int32{4, 5, 6, 7}},
		"pieces, unknown":  {Options{StripPadding: true}, "opening mug", false, []int32{8, 9, 1}},
		"padding kept":     {Options{}, "go", true, []int32{2, 4, 3, 0, 0, 0, 0, 0}},
		"cut on the right": {Options{MaxLen: 4, StripPadding: true}, "go to desk 1", true, []int32{2, 4, 5, 3}},
		"own limit lifted": {Options{MaxLen: 256, StripPadding: true}, "go to desk 1", true, []int32{2, 4, 5, 6, 7, 3}},
		"empty":            {Options{StripPadding: true}, "", true, []int32{2, 3}},
		"empty, none":      {Options{StripPadding: true}, "", false, []int32{}},
		"blanks":           {Options{StripPadding: true}, " \n\t", false, []int32{}},
		"after NUL":        {Options{StripPadding: true}, "go\x00 to\x00 desk", false, []int32{4, 5, 6}},
		"bad UTF-8":        {Options{StripPadding: true}, "go \xff to", false, []int32{4, 5}},
	} {
		tk := open(t, "wordpiece.json", c.o)
		if got, err := tk.Encode(c.text, c.special); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, c.want)
		}
	}
}

// A generator's vocabulary: surfaces carry their spaces and newlines.
func TestWordLevelIsInvertible(t *testing.T) {
	tk := open(t, "wordlevel.json", Options{})
	for text, want := range map[string][]int32{
		"\n> go to desk 1":          {1, 2, 3},
		"desk 1\n\n> go to desk 1":  {6, 3, 4, 1, 2, 3},
		"\n> go to desk 1<end>desk": {1, 2, 3, 5, 6},
	} {
		ids, err := tk.Encode(text, false)
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%q: ids %v, %v; want %v", text, ids, err, want)
		}
		if back := tk.Vocab().Text(ids); back != text {
			t.Errorf("%q came back as %q", text, back)
		}
	}
}

func TestConcurrentAndClosed(t *testing.T) {
	tk := open(t, "wordpiece.json", Options{StripPadding: true})
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100 {
				if ids, err := tk.Encode("go to desk 1", false); err != nil || len(ids) != 4 {
					t.Errorf("%v, %v", ids, err)
					return
				}
			}
		}()
	}
	wg.Wait()
	if err := errors.Join(tk.Close(), tk.Close()); err != nil {
		t.Error(err)
	}
	if ids, err := tk.Encode("go", false); !errors.Is(err, ErrClosed) || ids != nil {
		t.Errorf("after Close: %v, %v", ids, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	if !Available {
		_, err := Open(nil, Options{})
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "make deps") || !strings.Contains(err.Error(), "-tags native") {
			t.Errorf("error %v", err)
		}
		return
	}
	good := read(t, "wordpiece.json")
	for name, b := range map[string][]byte{
		"empty": nil, "no json": []byte("hello"), "cut": good[:len(good)/2], "no model": []byte(`{"version":"1.0"}`),
		"unknown kind": []byte(strings.Replace(string(good), `"type": "WordPiece", "unk`, `"type": "Magic", "unk`, 1)),
	} {
		if _, err := Open(b, Options{}); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Open(good, Options{MaxLen: -1}); err == nil {
		t.Error("negative MaxLen was accepted")
	}
}

func TestReadVocab(t *testing.T) {
	v, err := ReadVocab(read(t, "wordlevel.json"))
	if err != nil {
		t.Fatal(err)
	}
	if v.Len() != 7 || v.Surface(1) != "\n> go to" || v.Surface(2) != " desk" || v.Surface(99) != "" || v.Surface(-1) != "" {
		t.Errorf("len %d, surfaces %q %q", v.Len(), v.Surface(1), v.Surface(2))
	}
	if id, ok := v.ID(" 1"); !ok || id != 3 {
		t.Errorf("id of \" 1\" is %d, %v", id, ok)
	}
	if _, ok := v.ID("nothing"); ok || !v.Special(5) || v.Special(1) {
		t.Error("wrong ids or special tokens")
	}
	for name, js := range map[string]string{
		"same id twice": `{"model":{"vocab":{"a":0,"b":0}}}`,
		"added clashes": `{"added_tokens":[{"id":0,"content":"b"}],"model":{"vocab":{"a":0}}}`,
		"negative":      `{"model":{"vocab":{"a":-1}}}`,
		"huge":          `{"model":{"vocab":{"a":2000000000}}}`,
		"none":          `{"model":{"vocab":{}}}`,
		"no json":       `{`,
	} {
		if _, err := ReadVocab([]byte(js)); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestRepair(t *testing.T) {
	b := read(t, "wordpiece.json")
	for _, strip := range []bool{true, false} {
		out, err := repair(b, strip)
		if err != nil {
			t.Fatal(err)
		}
		var m struct{ Truncation, Padding any }
		if err := json.Unmarshal(out, &m); err != nil || m.Truncation != nil || (m.Padding == nil) != strip {
			t.Errorf("strip %v: %v, %v", strip, m, err)
		}
	}
}

func FuzzReadVocab(f *testing.F) {
	f.Add([]byte(`{"added_tokens":[{"id":1,"content":"b","special":true}],"model":{"vocab":{"a":0}}}`))
	f.Add([]byte(`{"model":{"vocab":{"a":4194304}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ReadVocab(b)
		if err != nil {
			return
		}
		for id := range int32(v.Len()) {
			if s := v.Surface(id); s != "" {
				if back, ok := v.ID(s); !ok || v.Surface(back) != s {
					t.Fatalf("surface %q has no way back", s)
				}
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	tk := open(b, "wordpiece.json", Options{StripPadding: true})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tk.Encode("go to desk 1", false); err != nil {
			b.Fatal(err)
		}
	}
}
