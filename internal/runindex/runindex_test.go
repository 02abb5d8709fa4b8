package runindex_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/muse-agent/muse/internal/runindex"
)

const (
	won = `{"format":"muse/episode@1","id":"a","arm":"muse","phase":"test","task_id":"t","task_type":"pick","goal":"put a cup on desk 1.",` +
		`"success":true,"reason":"goal reached","usage":{"completion_tokens":7},"steps":[` +
		`{"observation":"Nothing happens.","trace":{"candidates":[{"assessment":{"p":0.25}},{"assessment":{"p":0.5}}],"choice":{"index":1}}},` +
		`{"observation":"x","trace":{"candidates":[{"assessment":{"p":1}}],"choice":{"index":0}}}]}`
	lost = `{"format":"muse/episode@1","id":"b","arm":"muse","phase":"test","task_id":"t","success":false,"steps":[` +
		`{"trace":{"candidates":[{"assessment":{"p":0.95}}],"choice":{"index":0}}},{"trace":{"choice":{"index":-1}}}]}`
)

func TestEntriesSumUpTheEpisode(t *testing.T) {
	b := runindex.NewBuilder("episodes.jsonl", nil)
	for i, l := range []string{won, lost} {
		if err := b.Add(int64(i*1000), int64(i*1000+len(l)+1), []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	ix := b.Index()
	if err := ix.Check(1 << 20); err != nil || !ix.Full() {
		t.Fatalf("check: %v, full %v", err, ix.Full())
	}
	e := ix.Entries[0]
	want := runindex.P{First: .5, Last: 1, Mean: .75, Min: .5, Max: 1, N: 2}
	if *e.P != want || e.Nothing != 1 || e.Tokens != 7 || e.Steps != 2 || !e.Success || e.Goal != "put a cup on desk 1." {
		t.Errorf("entry %+v with P %+v", e, *e.P)
	}
	r := ix.Reliability[0]
	if r.Arm != "muse" || r.Bin[9] != (runindex.Bin{N: 2, P: 1.95, Won: 1}) || r.Bin[5] != (runindex.Bin{N: 1, P: .5, Won: 1}) {
		t.Errorf("reliability %+v", r)
	}
}

// Going on where an index ended gives the index of the whole.
func TestContinuedIsWhole(t *testing.T) {
	whole, first := runindex.NewBuilder("f", nil), runindex.NewBuilder("f", nil)
	add := func(b *runindex.Builder, i int, l string) {
		if err := b.Add(int64(i)*2000, int64(i)*2000+1000, []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	add(whole, 0, won)
	add(whole, 1, lost)
	add(first, 0, won)
	js, err := json.Marshal(first.Index())
	if err != nil {
		t.Fatal(err)
	}
	var old runindex.Index
	if err := json.Unmarshal(js, &old); err != nil {
		t.Fatal(err)
	}
	second := runindex.NewBuilder("f", &old)
	add(second, 1, lost)
	if !reflect.DeepEqual(whole.Index(), second.Index()) {
		t.Errorf("whole %+v\ncontinued %+v", whole.Index(), second.Index())
	}
}

func TestProblemsAreEntered(t *testing.T) {
	b := runindex.NewBuilder("f", nil)
	future := strings.Replace(won, "episode@1", "episode@2", 1)
	if err := b.Add(0, 10, []byte(future)); !errors.Is(err, runindex.ErrVersion) {
		t.Errorf("a later version: %v", err)
	}
	if err := b.Add(10, 20, []byte(`{"id":`)); err == nil {
		t.Error("half a line: no error")
	}
	if err := b.Add(20, 30, []byte(won)); err != nil {
		t.Error(err)
	}
	es := b.Index().Entries
	if len(es) != 3 || es[0].Problem == "" || es[1].Problem == "" || es[2].Problem != "" || es[0].ID != "a" {
		t.Errorf("entries %+v", es)
	}
}

// An index that isn't the file's is told, whatever its numbers.
func TestCheck(t *testing.T) {
	good := runindex.Index{Format: runindex.Format, Size: 100, Entries: []runindex.Entry{{Offset: 0, Length: 49}, {Offset: 50, Length: 49}}}
	if err := good.Check(100); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*runindex.Index){
		"version":  func(x *runindex.Index) { x.Format = "muse/index@9" },
		"size":     func(x *runindex.Index) { x.Size = 101 },
		"negative": func(x *runindex.Index) { x.Size = -1; x.Entries = nil },
		"outside":  func(x *runindex.Index) { x.Entries[1].Length = 51 },
		"huge":     func(x *runindex.Index) { x.Entries[1].Length = math.MaxInt },
		"order":    func(x *runindex.Index) { x.Entries[1].Offset = 10 },
		"before":   func(x *runindex.Index) { x.Entries[0].Offset = -5 },
		"length":   func(x *runindex.Index) { x.Entries[0].Length = -1 },
		"far":      func(x *runindex.Index) { x.Entries[1].Offset = math.MaxInt64 },
	} {
		x := good
		x.Entries = append([]runindex.Entry(nil), good.Entries...)
		spoil(&x)
		if x.Check(100) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
