package viewer_test

import (
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/muse-agent/muse/viewer"
)

var style = viewer.Style{Face: viewer.Regular, Size: 12}

// No line is wider than asked, all words are there in order as long as nothing was cut,
// and nothing that steers a terminal or hides text survives.
func TestWrapProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom(nil, unicode.Latin, unicode.Han, unicode.Cc, unicode.Cf, unicode.Space), 0, 200, -1).Draw(t, "text")
		width := rapid.Float64Range(20, 400).Draw(t, "width")
		most := rapid.IntRange(1, 6).Draw(t, "lines")
		lines := viewer.Wrap(style, s, width, most)
		if len(lines) > most {
			t.Fatalf("%d lines of at most %d", len(lines), most)
		}
		for _, l := range lines {
			if w := viewer.Measure(style, l); w > width+1e-9 && utf8.RuneCountInString(l) > 2 {
				t.Fatalf("%q is %g wide, not %g", l, w, width)
			}
			for _, r := range l {
				if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e {
					t.Fatalf("%q holds %U", l, r)
				}
			}
		}
		all := strings.Join(strings.Fields(viewer.Clean(s)), "")
		got := strings.ReplaceAll(strings.Join(lines, ""), " ", "")
		if !strings.HasSuffix(got, "…") && got != strings.ReplaceAll(all, " ", "") {
			t.Fatalf("words are missing: %q of %q", got, all)
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"a\nb\tc":               "a b c",
		"\x1b[31mred\x1b[0m":    "\ufffd[31mred\ufffd[0m",
		"a\u202egnp.exe":        "a\ufffdgnp.exe",
		"zero\u200bwidth\ufeff": "zerowidth",
		"bad\xffbytes":          "bad\ufffdbytes",
		"日本語":                   "日本語",
	} {
		if got := viewer.Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if n := utf8.RuneCountInString(viewer.Clean(strings.Repeat("é", 1<<20))); n != viewer.MaxText+1 {
		t.Errorf("a long text keeps %d runes", n)
	}
}

// Wide glyphs take two columns of a mono face, marks none, and runes that no font has
// still take room.
func TestWidths(t *testing.T) {
	mono := viewer.Style{Face: viewer.Mono, Size: 10}
	one := viewer.Measure(mono, "a")
	for text, columns := range map[string]float64{"日": 2, "한": 2, "é": 1, "e\u0301": 1, "→": 1, "😀": 2, "\u0e01": 1} {
		if w := viewer.Measure(mono, text); math.Abs(w-columns*one) > .02*one {
			t.Errorf("%q is %.2f columns wide, want %g", text, w/one, columns)
		}
	}
	if got := viewer.Ellipsis(style, "a long line of text", 60); !strings.HasSuffix(got, "…") || viewer.Measure(style, got) > 60 {
		t.Errorf("ellipsis: %q", got)
	}
}

// Letters leave ink where they should: a drawn line covers pixels, also of scripts that
// the outline fonts lack.
func TestGlyphsLeaveInk(t *testing.T) {
	for _, text := range []string{"A", "é", "Ж", "λ", "日", "한", "ب", "→", "😀", "\ufffd"} {
		s := viewer.NewScene(40, 30, viewer.Light.Panel)
		s.Text(5, 5, viewer.Style{Face: viewer.Regular, Size: 14}, viewer.Light.Ink, text)
		m := viewer.Raster(s, 1)
		dark := 0
		for i := 0; i < len(m.Pix); i += 4 {
			if m.Pix[i] < 128 {
				dark++
			}
		}
		if dark < 5 {
			t.Errorf("%q leaves %d dark pixels", text, dark)
		}
	}
}
