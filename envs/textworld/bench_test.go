package textworld

import (
	"context"
	"testing"
	"time"
)

func BenchmarkStep(b *testing.B)           { benchPlay(b, false) }
func BenchmarkStepAdmissible(b *testing.B) { benchPlay(b, true) }

func benchPlay(b *testing.B, list bool) {
	p := newPlayer(benchScripts(64), list)
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for b.Loop() {
		k, err := p.play(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		n += k
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "steps/s")
}

func BenchmarkNewWorld(b *testing.B) {
	s := benchScripts(64)
	i := 0
	for b.Loop() {
		NewWorld(s[i%len(s)].game, DialectMove)
		i++
	}
}

func BenchmarkClone(b *testing.B) {
	w := NewWorld(benchScripts(1)[0].game, DialectMove)
	for b.Loop() {
		w.Clone()
	}
}

func BenchmarkOpen(b *testing.B) {
	set := mustLibrary().set
	i := 0
	for b.Loop() {
		d, err := set.load(&set.entries[i*97%len(set.entries)])
		if err != nil {
			b.Fatal(err)
		}
		compile(d)
		i++
	}
}

func BenchmarkOpenIndex(b *testing.B) {
	for b.Loop() {
		if _, err := openPacked(gamesBin); err != nil {
			b.Fatal(err)
		}
	}
}

// The figures depend on the machine and are not judged here; that all are filled in is.
func TestBenchFillsEveryFigure(t *testing.T) {
	r, err := Bench(context.Background(), 10*time.Millisecond, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]float64{
		"steps": r.StepsPerS, "admissible": r.StepsPerSAdmissible, "engine": r.EngineStepsPerS, "reset": r.ResetUS,
		"clone": r.CloneUS, "open": r.OpenUS, "parallel": r.ParallelSpeedup, "commands": float64(r.Commands),
	} {
		if v <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Bench(ctx, time.Second, 1); err == nil {
		t.Error("a cancelled benchmark reports no error")
	}
}
