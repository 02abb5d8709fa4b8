package gate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRunes and maxWords bound what may pass for an acknowledgement.
const (
	maxRunes = 80
	maxWords = 12
)

func short(draft string) bool {
	if len(draft) > utf8.UTFMax*maxRunes || utf8.RuneCountInString(draft) > maxRunes {
		return false
	}
	return len(strings.Fields(draft)) <= maxWords
}

// numberWords are numerals and quantities that are written out: they assert as much
// as digits do. "one" and its relatives are left out, as articles are spelt so.
var numberWords = set(`zero two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million billion half twice percent dozen
cero dos tres cuatro cinco seis siete ocho nueve diez once doce veinte treinta cien ciento mil millón millones mitad
null zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend million millionen hälfte prozent dutzend
zéro deux trois quatre cinq six sept huit neuf dix onze douze vingt trente cent mille million moitié douzaine
dois duas três quatro cinco sete oito nove dez onze doze vinte trinta cem cento metade milhão milhões`)

// citing are words that introduce what somebody else is said to have said.
var citing = []string{"according to", "et al", "source:", "sources:", "cited", "as reported", "studies show", "research shows",
	"según", "fuente:", "estudios", "laut", "quelle:", "gemäß", "studien", "selon", "d'après", "étude", "segundo o", "segundo a", "de acordo com", "fonte:", "estudos"}

// capitals may begin with a capital inside a sentence without naming anything:
// English I, German nouns and polite pronouns of the known phrases.
var capitals = set(`i i'll i'm i've i'd ok okay problem ordnung dank sie ihnen ihre moment bescheid gerne gern augenblick sekunde gut klar ja tag morgen abend nacht wiedersehen`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// HasClaims says whether a draft asserts anything that could be checked: numbers,
// names, citations, identifiers, quotations, links, amounts. It errs on the side of
// finding some; it looks at form only and knows no language.
func HasClaims(draft string) bool {
	if !utf8.ValidString(draft) {
		return true
	}
	start := true // of a sentence: a capital means nothing there
	for _, r := range draft {
		switch {
		case unicode.IsNumber(r):
			return true
		case strings.ContainsRune("#@%_\\/<>=+*^~|{}[]$€£¥§°&\"“”„«»‹›`", r):
			return true
		case r == '(' || r == ')':
			return true
		case unicode.IsSymbol(r) && !emoji(r):
			return true
		}
	}
	for _, w := range strings.FieldsFunc(draft, unicode.IsSpace) {
		bare := strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
		if bare == "" {
			start = start || strings.ContainsAny(w, ".!?…")
			continue
		}
		low := strings.ToLower(bare)
		if numberWords[low] {
			return true
		}
		if strings.ContainsAny(bare, ".:") { // site.org, a:b
			return true
		}
		if named(bare, start) && !capitals[strings.ReplaceAll(low, "’", "'")] {
			return true
		}
		start = strings.ContainsAny(w[strings.LastIndex(w, bare)+len(bare):], ".!?…")
	}
	low := strings.ToLower(draft)
	for _, c := range citing {
		if strings.Contains(low, c) {
			return true
		}
	}
	return false
}

// named tells names by their capitals: inside a sentence any, at its start only a
// second one ("NASA", "GitHub").
func named(w string, start bool) bool {
	upper, first := 0, false
	for i, r := range w {
		if unicode.IsUpper(r) {
			upper++
			first = first || i == 0
		}
	}
	switch {
	case upper == 0:
		return false
	case start && first:
		return upper > 1
	}
	return true
}

// emoji are signs of mood, not of content.
func emoji(r rune) bool {
	return r >= 0x1F300 && r <= 0x1FAFF || r == '✓' || r == '✔' || r == '☺' || r == '♥' || r == 0x2705 || r == 0x1F3FB
}
