package gate

import (
	"strings"
	"unicode"
)

// phrases are the pieces of which an acknowledgement may consist, by language. Words
// that report a finished action ("done", "erledigt", "hecho") are not among them:
// that is a claim. A draft must be covered by the phrases of one language, whole.
var phrases = map[string]string{
	"en": `ok|okay|ok then|sure|sure thing|of course|certainly|absolutely|definitely|yes|yep|yeah|right|alright|all right|great|perfect|fine|good|very good|sounds good|sounds great|got it|i got it|understood|i understand|noted|will do|i will|i'll do that|i'll do it|i'll get on it|i'll take care of it|i'll take care of that|i'll handle it|i'll handle that|i'll look into it|i'll look into that|i'll get started|i'll start right away|i'll let you know|i'll keep you posted|i'm on it|on it|on my way|right away|at once|no problem|no worries|not a problem|my pleasure|with pleasure|happy to|happy to help|glad to help|glad to|you're welcome|you are welcome|welcome|thanks|thank you|thank you very much|thanks a lot|many thanks|one moment|one moment please|just a moment|just a second|a moment please|give me a moment|give me a second|hold on|let me check|let me see|let me look|let me look into that|let me think|working on it|working on that|looking into it|looking into that|checking|checking that|checking now|scheduling that|scheduling it|adding that|adding it|doing that now|doing it now|starting now|getting started|sending it|sending that|sending it now|updating it|updating that|taking care of it|taking care of that|please|now|then|for you|as you wish|as requested|go ahead|hello|hi|good morning|good evening|good night|bye|goodbye|see you|see you later|talk soon|take care|have a nice day|anytime|any time|roger|roger that|copy that|will be right back|be right there|i see|ah i see|oh i see|and`,
	"es": `ok|okay|vale|sí|si|claro|claro que sí|por supuesto|desde luego|de acuerdo|muy bien|bien|bueno|perfecto|genial|estupendo|entendido|comprendido|lo entiendo|entiendo|anotado|tomo nota|lo tengo|ya veo|me parece bien|así lo haré|lo haré|lo hago|lo hago ahora|lo hago ahora mismo|ahora mismo|enseguida|en seguida|voy a ello|me pongo a ello|me pongo con ello|me encargo|yo me encargo|me encargo de ello|lo reviso|lo reviso ahora|lo miro|lo miro ahora|lo compruebo|déjame ver|déjame comprobarlo|déjame pensar|un momento|un momento por favor|un segundo|dame un momento|dame un segundo|espera|espera un momento|sin problema|no hay problema|ningún problema|no te preocupes|no se preocupe|con gusto|con mucho gusto|encantado|encantada|de nada|gracias|muchas gracias|mil gracias|a ti|a usted|por favor|agendándolo|programándolo|añadiéndolo|enviándolo|trabajando en ello|estoy en ello|te aviso|le aviso|ya te aviso|te mantengo al tanto|hola|buenos días|buenas tardes|buenas noches|adiós|hasta luego|hasta pronto|nos vemos|que tengas un buen día|y|pues|entonces`,
	"de": `ok|okay|in ordnung|alles klar|klar|na klar|gut|sehr gut|super|prima|perfekt|wunderbar|ja|ja gerne|jawohl|natürlich|selbstverständlich|sicher|gewiss|einverstanden|verstanden|habe verstanden|ich verstehe|verstehe|notiert|ist notiert|mache ich|mach ich|wird gemacht|das mache ich|ich mache das|mache ich gerne|mache ich sofort|ich kümmere mich darum|kümmere mich darum|ich schaue nach|ich schaue mir das an|ich sehe mir das an|ich prüfe das|ich prüfe es|wird geprüft|ich melde mich|ich gebe bescheid|ich gebe ihnen bescheid|ich halte sie auf dem laufenden|bin dran|ich bin dran|sofort|gleich|kommt sofort|einen moment|einen moment bitte|moment|moment bitte|einen augenblick|einen augenblick bitte|eine sekunde|kein problem|gar kein problem|keine ursache|gern|gerne|sehr gerne|gern geschehen|gerne doch|bitte|bitte sehr|bitte schön|danke|danke schön|danke sehr|vielen dank|herzlichen dank|besten dank|lass mich nachsehen|lassen sie mich nachsehen|lass mich überlegen|passt|passt so|stimmt|genau|hallo|guten tag|guten morgen|guten abend|gute nacht|auf wiedersehen|tschüss|bis bald|bis später|schönen tag noch|und|dann|jetzt`,
	"fr": `ok|okay|oui|d'accord|bien|très bien|c'est bon|parfait|super|génial|entendu|compris|j'ai compris|je comprends|c'est compris|noté|c'est noté|bien noté|bien sûr|certainement|absolument|tout à fait|volontiers|avec plaisir|pas de problème|aucun problème|pas de souci|aucun souci|de rien|je vous en prie|je t'en prie|merci|merci beaucoup|merci bien|un grand merci|je m'en occupe|je m'en charge|je le fais|je le fais tout de suite|je fais ça|je fais cela|tout de suite|immédiatement|j'y vais|je m'y mets|je regarde|je regarde ça|je vérifie|je vérifie cela|je vérifie ça|laissez-moi vérifier|laisse-moi vérifier|laissez-moi voir|laissez-moi réfléchir|un instant|un instant s'il vous plaît|un moment|un moment s'il vous plaît|une seconde|attendez un instant|je vous tiens au courant|je te tiens au courant|je vous préviens|en cours|c'est parti|ça marche|ça me va|je vois|ah je vois|s'il vous plaît|s'il te plaît|bonjour|bonsoir|bonne nuit|salut|au revoir|à bientôt|à plus tard|à tout à l'heure|bonne journée|et|alors|maintenant`,
	"pt": `ok|okay|sim|claro|claro que sim|com certeza|certamente|tudo bem|está bem|tá bom|está bom|bem|muito bem|bom|ótimo|perfeito|excelente|beleza|entendido|entendi|compreendo|compreendido|anotado|combinado|de acordo|pode deixar|deixa comigo|deixe comigo|vou fazer|vou fazer isso|faço isso|faço já|vou fazer agora|agora mesmo|já vou|é para já|vou verificar|vou verificar isso|vou ver|vou ver isso|deixe-me ver|deixe-me verificar|deixa eu ver|deixa eu verificar|deixe-me pensar|um momento|um momento por favor|um instante|um segundo|só um momento|só um instante|aguarde|aguarde um momento|sem problema|sem problemas|não há problema|não se preocupe|com prazer|com muito prazer|de nada|por nada|disponha|obrigado|obrigada|muito obrigado|muito obrigada|por favor|cuido disso|eu cuido disso|eu trato disso|trato disso|estou nisso|estou trabalhando nisso|agendando|aviso você|te aviso|eu aviso|mantenho você informado|olá|oi|bom dia|boa tarde|boa noite|tchau|adeus|até logo|até mais|até já|tenha um bom dia|e|então|agora`,
}

// known holds each language's phrases, by their words joined by a space.
var known = func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for lang, ps := range phrases {
		out[lang] = list(ps)
	}
	return out
}()

// fillers are known, but acknowledge nothing by themselves: joining words, and words
// that affirm. "Yes, will do." is an acknowledgement, "Yes, absolutely." is a claim.
var fillers = list(`absolument|absolutely|agora|alors|and|bem|bien|bitte|bom|bueno|c'est bon|certainement|certainly|certamente|claro que sim|claro que sí|com certeza|dann|definitely|desde luego|e|entonces|então|está bom|et|fine|genau|gewiss|good|gut|ja|jetzt|maintenant|muito bem|muy bien|now|oui|passt|passt so|please|por favor|pues|right|s'il te plaît|s'il vous plaît|sehr gut|selbstverständlich|si|sicher|sim|stimmt|sí|then|tout à fait|très bien|und|very good|y|yeah|yep|yes`)

func list(phrases string) map[string]bool {
	m := map[string]bool{}
	for p := range strings.SplitSeq(phrases, "|") {
		m[p] = true
	}
	return m
}

const phraseWords = 6 // the longest phrase

// Languages are the codes of the languages whose acknowledgements are known.
var Languages = []string{"en", "es", "de", "fr", "pt"}

// plain is a draft in lower case, with one kind of apostrophe, without the
// punctuation of mood and pause.
func plain(draft string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(draft) {
		switch {
		case r == '’' || r == '‘':
			b.WriteByte('\'')
		case unicode.IsLetter(r) || r == '\'' || r == '-' || unicode.IsMark(r) && r != 0xFE0F:
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// IsTrivial says whether a draft is a trivial acknowledgement: short, without
// claims, no question, and made of known phrases of one language from its first word
// to its last. An unknown language does not match.
func IsTrivial(draft string) bool {
	return short(draft) && !HasClaims(draft) && acknowledges(draft)
}

// acknowledges is IsTrivial of a short draft without claims.
func acknowledges(draft string) bool {
	if strings.ContainsAny(draft, "?¿") {
		return false
	}
	words := strings.Fields(plain(draft))
	if len(words) == 0 {
		return false
	}
	for i, w := range words {
		words[i] = strings.Trim(w, "-")
	}
	if len(words) > 2*maxWords {
		return false
	}
	for _, lang := range Languages {
		if covered(words, known[lang]) {
			return true
		}
	}
	return false
}

// covered says whether the words are a sequence of phrases, at least one of which
// is more than a filler.
func covered(words []string, m map[string]bool) bool {
	// reach[i]: 1 = the first i words are covered, 2 = and not by fillers alone.
	var reach [2*maxWords + 1]byte
	reach[0] = 1
	for i := range words {
		if reach[i] == 0 {
			continue
		}
		p := ""
		for n := 1; n <= phraseWords && i+n <= len(words); n++ {
			if p != "" {
				p += " "
			}
			p += words[i+n-1]
			if !m[p] {
				continue
			}
			v := reach[i]
			if !fillers[p] {
				v = 2
			}
			reach[i+n] = max(reach[i+n], v)
		}
	}
	return reach[len(words)] == 2
}
