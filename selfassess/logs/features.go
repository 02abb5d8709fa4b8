package logs

import (
	"strings"
)

// FeatureVersion names the definition of the counts; it is stored with a model.
const FeatureVersion = "log@1"

// verbs are told apart in the counts; anything else is "other". put stands for both
// wordings of placing, "put" and "move".
var verbs = [...]string{"go", "open", "close", "take", "put", "clean", "heat", "cool", "use", "examine", "look", "inventory", "other"}

// FeatureNames lists the counts in the order of the vector. "Failed" means that
// the answer begins with "Nothing happens" or "Error" or says "not a command";
// "object" and "target" are the first and the last word of the goal that is neither a
// verb nor a particle. Whatever a log doesn't have counts 0.
var FeatureNames = func() []string {
	n := []string{
		"steps", "failed", "failed_last", "failed_last2", "failed_last3", "failed_of4", "since_worked",
		"repeated", "same_last", "in_order", "places", "new_things", "answer_length", "action_words", "articles", "capitals",
		"object_seen", "object_seen_at", "target_seen", "target_visited", "object_in_actions", "target_in_actions",
		"picked", "picked_object", "picked_other", "since_picked_object", "placed_target", "placed_other", "treated",
		"holds_object", "holds_other", "failed_takes", "failed_takes_object", "failed_puts", "failed_treats",
		"room_things", "room_targets", "goal_clean", "goal_heat", "goal_cool", "goal_two", "goal_look", "goal_words",
	}
	for _, v := range verbs {
		n = append(n, "tried_"+v, "worked_"+v)
	}
	return n
}()

// never stands for a step that did not come.
const never = 60

// progress follows one episode and can tell the counts after every step.
type progress struct {
	object, target string
	words          int
	flags          [5]float32 // of the goal: clean, heat, cool, two, look
	roomThings     float32
	roomTargets    float32

	n                            int
	seenAt, pickedAt             int
	fails                        []bool
	last                         string
	actions, places, things      map[string]bool
	tried, worked                [len(verbs)]float32
	repeated, inOrder            float32
	sameLast                     bool
	answer, actionWords          float32
	articles, capitals           float32
	seen, targetSeen, visited    float32
	objectActs, targetActs       float32
	picked, pickedObj, pickedNot float32
	placed, placedNot, treated   float32
	failTake, failTakeObj        float32
	failPut, failTreat           float32
	held                         string
}

// goalStop are words of a goal that are no thing.
var goalStop = map[string]bool{}

func init() {
	for w := range strings.FieldsSeq("a an the some two put place move find take get look at under with in on into to of and it them then examine clean heat cool hot cold heated cooled cleaned warm your task is please you") {
		goalStop[w] = true
	}
}

func newProgress(e *Episode) *progress {
	p := &progress{seenAt: never, pickedAt: -1, actions: map[string]bool{}, places: map[string]bool{}, things: map[string]bool{}}
	goal := strings.ToLower(e.Task)
	for w := range strings.FieldsFuncSeq(goal, notWord) {
		p.words++
		switch w {
		case "clean", "cleaned":
			p.flags[0] = 1
		case "heat", "hot", "heated":
			p.flags[1] = 1
		case "cool", "cold", "cooled":
			p.flags[2] = 1
		case "two":
			p.flags[3] = 1
		case "look", "examine":
			p.flags[4] = 1
		}
		if goalStop[w] {
			continue
		}
		if p.object == "" {
			p.object = w
		}
		p.target = w
	}
	room := strings.ToLower(e.Room)
	p.roomThings = float32(strings.Count(room, ","))
	if p.target != "" {
		p.roomTargets = float32(strings.Count(room, p.target+" "))
	}
	return p
}

func notWord(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// hasWord reports whether word stands in s with no letter before or after it.
func hasWord(s, word string) bool {
	if word == "" {
		return false
	}
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || !letter(s[i-1])) && (end == len(s) || !letter(s[end])) {
			return true
		}
		at = i + 1
	}
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' }

// noEffect reports whether an answer (lower case) says that nothing was done.
func noEffect(obs string) bool {
	return strings.HasPrefix(obs, "nothing happens") || strings.HasPrefix(obs, "error") || strings.Contains(obs, "not a command")
}

func verbOf(action string) int {
	w, _, _ := strings.Cut(action, " ")
	if w == "move" {
		w = "put"
	}
	for i, v := range verbs {
		if v == w {
			return i
		}
	}
	return len(verbs) - 1
}

// step takes the next step in.
func (p *progress) step(s Step) {
	act, obs := strings.ToLower(strings.TrimSpace(s.Action)), strings.ToLower(strings.TrimSpace(s.Observation))
	failed := noEffect(obs)
	v := verbOf(act)
	p.tried[v]++
	if !failed {
		p.worked[v]++
	}
	if p.actions[act] {
		p.repeated++
	}
	p.actions[act] = true
	p.sameLast = p.n > 0 && act == p.last
	if p.n > 0 && act > p.last {
		p.inOrder++
	}
	p.last = act
	if act != s.Action {
		p.capitals++
	}
	for w := range strings.FieldsSeq(act) {
		p.actionWords++
		if w == "a" || w == "an" || w == "the" {
			p.articles++
		}
	}
	if strings.HasPrefix(act, "go to ") && !failed {
		p.places[act] = true
		if hasWord(act, p.target) {
			p.visited++
		}
	}
	p.answer += float32(len(obs))
	p.collect(obs)
	if hasWord(obs, p.object) {
		if p.seen == 0 {
			p.seenAt = p.n
		}
		p.seen++
	}
	if hasWord(obs, p.target) {
		p.targetSeen++
	}
	inAct := hasWord(act, p.object)
	if inAct {
		p.objectActs++
	}
	if hasWord(act, p.target) {
		p.targetActs++
	}
	p.handle(act, obs, failed, inAct, verbs[v])
	p.fails = append(p.fails, failed)
	p.n++
}

// handle follows what is in the hand and what was done with it.
func (p *progress) handle(act, obs string, failed, inAct bool, verb string) {
	switch {
	case strings.HasPrefix(obs, "you pick up the "):
		p.held, _, _ = strings.Cut(obs[len("you pick up the "):], " ")
		p.picked++
		if p.held == p.object {
			if p.pickedObj++; p.pickedAt < 0 {
				p.pickedAt = p.n
			}
		} else {
			p.pickedNot++
		}
	case strings.HasPrefix(obs, "you put the "), strings.HasPrefix(obs, "you move the "):
		where := obs[strings.LastIndex(obs, " the ")+1:]
		if hasWord(where, p.target) && (p.held == "" || p.held == p.object) {
			p.placed++
		} else {
			p.placedNot++
		}
		p.held = ""
	case verb == "clean" || verb == "heat" || verb == "cool":
		if failed {
			p.failTreat++
		} else if inAct {
			p.treated++
		}
	case failed && verb == "take":
		p.failTake++
		if inAct {
			p.failTakeObj++
		}
	case failed && verb == "put":
		p.failPut++
	}
}

// collect notes the numbered things ("mug 2") of an answer.
func (p *progress) collect(obs string) {
	last := ""
	for w := range strings.FieldsFuncSeq(obs, notWord) {
		if w[0] >= '0' && w[0] <= '9' && last != "" && letter(last[0]) {
			p.things[last+" "+w] = true
		}
		last = w
	}
}

// write puts the counts after the steps so far into dst, which must have room for
// len(FeatureNames) values.
func (p *progress) write(dst []float32) {
	fail := func(back int) float32 {
		if i := p.n - back; i >= 0 && p.fails[i] {
			return 1
		}
		return 0
	}
	total, of4, since := float32(0), float32(0), 0
	for i, f := range p.fails {
		if f {
			total++
			if i >= p.n-4 {
				of4++
			}
			since++
		} else {
			since = 0
		}
	}
	sincePicked := float32(-1)
	if p.pickedAt >= 0 {
		sincePicked = float32(p.n - p.pickedAt)
	}
	out := append(dst[:0], float32(p.n), total, fail(1), fail(2), fail(3), of4, float32(since),
		p.repeated, bit(p.sameLast), p.inOrder, float32(len(p.places)), float32(len(p.things)), p.answer, p.actionWords, p.articles, p.capitals,
		p.seen, float32(p.seenAt), p.targetSeen, p.visited, p.objectActs, p.targetActs,
		p.picked, p.pickedObj, p.pickedNot, sincePicked, p.placed, p.placedNot, p.treated,
		bit(p.held != "" && p.held == p.object), bit(p.held != "" && p.held != p.object), p.failTake, p.failTakeObj, p.failPut, p.failTreat,
		p.roomThings, p.roomTargets)
	out = append(out, p.flags[:]...)
	out = append(out, float32(p.words))
	for i := range verbs {
		out = append(out, p.tried[i], p.worked[i])
	}
}

func bit(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// Features returns the counts after the first n steps of e, in the order of
// [FeatureNames].
func Features(e *Episode, n int) []float32 {
	p := newProgress(e)
	for _, s := range e.Steps[:min(n, len(e.Steps))] {
		p.step(s)
	}
	x := make([]float32, len(FeatureNames))
	p.write(x)
	return x
}
