package scripted

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/llm"
)

var ctx = context.Background()

const prompt = "Your task is to: put a mug in shelf.\nYou are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 1, and a shelf 1."

func open(t *testing.T, m llm.Model, text string) llm.Session {
	t.Helper()
	s, err := m.Open(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUntilAndRecall(t *testing.T) {
	m := New("x", func(Prompt) (string, error) {
		return "\nthink: a\n> go to bed 1\nOn the bed 1, you see nothing.\n> take mug 1 from bed 1\nNothing happens.\n> go to desk 1\nx\n[end: lost]", nil
	})
	s := open(t, m, prompt)
	var asked []string
	c, u, err := s.Sample(ctx, llm.Request{N: 1, Until: llm.UntilPairs, Pairs: 2,
		Recall: func(p []llm.Pair, a string) (string, bool) {
			asked = append(asked, fmt.Sprint(len(p), " ", a))
			return "On the bed 1, you see a mug 1.", true
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := "\nthink: a\n> go to bed 1\nOn the bed 1, you see a mug 1.\n> take mug 1 from bed 1\nNothing happens."
	if c[0].Text != want || c[0].Finish != llm.FinishStop || c[0].ForcedTokens != 9 || u.CompletionTokens != c[0].Tokens {
		t.Errorf("got %+v", c[0])
	}
	if !reflect.DeepEqual(asked, []string{"0 go to bed 1"}) {
		t.Errorf("recall was asked %q: never where the model foresees nothing", asked)
	}
	if !reflect.DeepEqual(c[0].Nothing, []float64{0, 1}) {
		t.Errorf("got %v", c[0].Nothing)
	}
	c, _, _ = s.Sample(ctx, llm.Request{N: 2, Until: llm.UntilAction, ForbidEnd: true})
	if len(c) != 2 || c[1].Text != "\nthink: a\n> go to bed 1" {
		t.Errorf("got %+v", c)
	}
	if s.Text() != prompt {
		t.Error("Sample changed the prefix")
	}
}

func TestListRunsOut(t *testing.T) {
	m := List("two", "\n> a", "\n> b")
	s := open(t, m, "x")
	if _, _, err := s.Sample(ctx, llm.Request{N: 3, Until: llm.UntilAction}); !errors.Is(err, ErrExhausted) {
		t.Errorf("got %v", err)
	}
	if n := len(m.Asked()); n != 3 {
		t.Errorf("%d prompts noted", n)
	}
}

func TestContextAndFork(t *testing.T) {
	s := open(t, New("x", func(Prompt) (string, error) { return "", nil }, WithContext(4)), "a b c")
	f, _ := s.Fork(ctx)
	if _, err := s.Append(ctx, " d e"); !errors.Is(err, llm.ErrContext) || s.Text() != "a b c" {
		t.Errorf("got %v, prefix %q", err, s.Text())
	}
	if _, err := f.Append(ctx, " d"); err != nil || s.Text() != "a b c" || f.Len() != 4 {
		t.Errorf("the fork isn't independent: %q %q %v", s.Text(), f.Text(), err)
	}
}

func TestToyWinsAndRepeats(t *testing.T) {
	s := open(t, Toy(), prompt+"\n> go to desk 1\nOn the desk 1, you see a mug 2.")
	r := llm.Request{N: 3, Until: llm.UntilPairs, Pairs: 4, Seed: 5}
	a, _, err := s.Sample(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	pairs, claim, ok := llm.ParseRollout(a[0].Text)
	if !ok || claim != "won" || pairs[0].Action != "take mug 2 from desk 1" || pairs[2].Action != "move mug 2 to shelf 1" {
		t.Errorf("got %q", a[0].Text)
	}
	r.N = 1
	if b, _, _ := s.Sample(ctx, r); b[0].Text != a[0].Text {
		t.Error("N=1 differs from candidate 0 of N=3")
	}
	if _, err := s.Append(ctx, "\nreflection:"); err != nil {
		t.Fatal(err)
	}
	l, _, _ := s.Sample(ctx, llm.Request{N: 1, Until: llm.UntilLine})
	if !strings.Contains(l[0].Text, "look for") || strings.Contains(l[0].Text, "\n") {
		t.Errorf("got %q", l[0].Text)
	}
}

func ExampleToy() {
	s, _ := Toy().Open(context.Background(), prompt+"\n> go to desk 1\nOn the desk 1, you see a mug 2.")
	c, _, _ := s.Sample(context.Background(), llm.Request{N: 1, Until: llm.UntilPairs, Pairs: 4})
	fmt.Println(c[0].Text[1:])
	// Output:
	// think: i see mug 2.
	// > take mug 2 from desk 1
	// You pick up the mug 2 from the desk 1.
	// think: i have mug 2.
	// > go to shelf 1
	// On the shelf 1, you see nothing.
	// think: put mug 2 here.
	// > move mug 2 to shelf 1
	// You move the mug 2 to the shelf 1.
	// [end: won]
}
