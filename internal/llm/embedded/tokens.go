package embedded

import (
	"fmt"
	"strings"

	"github.com/muse-agent/muse/internal/hftok"
	"github.com/muse-agent/muse/internal/llm"
)

// class is what a token does to the line structure; a bit set makes a mask.
type class uint16

const (
	special    class = 1 << iota // padding, start, unknown: never drawn
	text                         // stays on the line
	bare                         // "\n": an observation begins
	think                        // "\nthink:"
	act                          // "\n>"
	plan                         // "\nplan:"
	reflection                   // "\nreflection:"
	endWon                       // "\n[end: won]"
	endLost                      // "\n[end: lost]"
	ends       = endWon | endLost
	newlines   = bare | think | act | plan | reflection | ends
)

// table holds the classes and surfaces of a vocabulary. Safe for concurrent use.
type table struct {
	class   []class
	surface []string
	nothing int32 // "Nothing happens."
	bos     int32
}

func newTable(v *hftok.Vocab, size int) (*table, error) {
	if v.Len() != size {
		return nil, fmt.Errorf("embedded: the tokenizer has %d tokens, the model %d: they don't belong together", v.Len(), size)
	}
	t := &table{class: make([]class, size), surface: make([]string, size)}
	var have class
	for id := range t.class {
		s := v.Surface(int32(id))
		t.surface[id] = s
		switch c := classOf(s); {
		case s == "<pad>" || s == "<bos>" || s == "<unk>" || s == "" || v.Special(int32(id)):
			t.class[id] = special
		default:
			t.class[id] = c
			have |= c
		}
	}
	if missing := (newlines | text) &^ have; missing != 0 {
		return nil, fmt.Errorf("embedded: the tokenizer lacks line tags (class mask %#x of %#x)", missing, newlines)
	}
	var ok, ok2 bool
	t.nothing, ok = v.ID(llm.NothingHappens)
	t.bos, ok2 = v.ID("<bos>")
	if !ok || !ok2 {
		return nil, fmt.Errorf("embedded: the tokenizer lacks %q or <bos> as one token", llm.NothingHappens)
	}
	return t, nil
}

func classOf(surface string) class {
	rest, ok := strings.CutPrefix(surface, "\n")
	if !ok {
		return text
	}
	for _, x := range [...]struct {
		tag string
		c   class
	}{{llm.TagThink, think}, {llm.TagAct, act}, {llm.TagPlan, plan}, {llm.TagReflection, reflection}, {llm.EndWon, endWon}, {llm.EndLost, endLost}} {
		if strings.HasPrefix(rest, x.tag) {
			return x.c
		}
	}
	return bare
}
