package gametext_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/muse-agent/muse/internal/gametext"
)

func Example() {
	c := gametext.ParseCommand("take mug 1 from desk 2")
	fmt.Printf("%q %q %q\n", c.Verb, c.Object, c.Place)
	items, _ := gametext.ParseList("a pen 2, and a mug 1.")
	fmt.Println(gametext.RenderList(gametext.Insert([]string{"pen 2"}, "mug 1")), len(items))
	// Output:
	// "take" "mug 1" "desk 2"
	// a mug 1, and a pen 2 2
}

func TestParseCommand(t *testing.T) {
	for text, want := range map[string]gametext.Command{
		"look":                           {Verb: "look"},
		"inventory":                      {Verb: "inventory"},
		"go to sidetable 1":              {Verb: "go to", Place: "sidetable 1"},
		"go sidetable 1":                 {Verb: "go", Object: "sidetable 1"},
		"open drawer 2":                  {Verb: "open", Place: "drawer 2"},
		"close drawer 2":                 {Verb: "close", Place: "drawer 2"},
		"examine cart 1":                 {Verb: "examine", Place: "cart 1"},
		"use desklamp 1":                 {Verb: "use", Object: "desklamp 1"},
		"move mug 1 to shelf 1":          {Verb: "move", Object: "mug 1", Place: "shelf 1"},
		"heat egg 1 with microwave 1":    {Verb: "heat", Object: "egg 1", Place: "microwave 1"},
		"slice bread 1 with knife 1":     {Verb: "slice", Object: "bread 1", Place: "knife 1"},
		"take mug 1":                     {Verb: "take", Object: "mug 1"},
		"take mug 1 from a from shelf":   {Verb: "take", Object: "mug 1", Place: "a from shelf"},
		"":                               {},
		"dance with me from here to now": {Verb: "dance", Object: "with me from here to now"},
	} {
		if got := gametext.ParseCommand(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestLists(t *testing.T) {
	for text, want := range map[string][]string{
		"nothing.":                        {},
		"a mug 1.":                        {"mug 1"},
		"a cup 2, and a cup 1.":           {"cup 2", "cup 1"},
		"a cup 2, a cup 1, and a fork 1.": {"cup 2", "cup 1", "fork 1"},
		"a cup 2, a cup 1, a fork 1.":     nil,
		"a cup 2 and a cup 1.":            nil,
		"cup 2.":                          nil,
		"a cup.":                          nil,
		"a cup -1.":                       nil,
		"a cup 1":                         nil,
		"":                                nil,
	} {
		got, ok := gametext.ParseList(text)
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
		if ok && gametext.RenderList(got)+"." != text {
			t.Errorf("%q is rendered as %q", text, gametext.RenderList(got))
		}
	}
	from := []string{"cup 3", "cup 1", "fork 1"}
	for x, want := range map[string]int{"cup 4": 0, "cup 2": 1, "cup 0": 2, "apple 9": 0, "spoon 1": 3} {
		if got := gametext.Insert(from, x); slices.Index(got, x) != want || len(got) != 4 || len(from) != 3 {
			t.Errorf("%q in %q gives %q", x, from, got)
		}
	}
	if got := gametext.Insert(from, "cup 1"); len(got) != 3 {
		t.Errorf("an item twice: %q", got)
	}
}

// What was read is written back; nothing panics.
func FuzzParseList(f *testing.F) {
	for _, s := range []string{"nothing.", "a cup 2, and a cup 1.", "a a 1, and a .", ", , ."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		gametext.ParseCommand(s)
		items, ok := gametext.ParseList(s)
		if !ok {
			return
		}
		again, ok := gametext.ParseList(gametext.RenderList(items) + ".")
		if !ok || !slices.Equal(items, again) {
			t.Errorf("%q gives %q, and written again %q", s, items, again)
		}
	})
}
