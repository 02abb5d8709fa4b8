// Command packgames packs published game files into the compact set that the
// textworld package embeds:
//
//	go run ./envs/textworld/internal/packgames -from DIR -out envs/textworld/games.bin
//
// DIR holds all-train-games.jsonl.gz and all-valid-games.jsonl.gz. The bytes
// written depend on the games alone. Before writing, every game is read back and
// compared with its PDDL: content, plan, and the transcript of the plan.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/muse-agent/muse/envs/textworld"
)

func main() {
	from := flag.String("from", "", "folder with all-*-games.jsonl.gz")
	out := flag.String("out", "games.bin", "file to write")
	flag.Parse()
	if err := run(*from, *out); err != nil {
		fmt.Fprintln(os.Stderr, "packgames:", err)
		os.Exit(1)
	}
}

func run(from, out string) error {
	files, err := filepath.Glob(filepath.Join(from, "all-*-games.jsonl.gz"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no all-*-games.jsonl.gz in %q; give the folder with -from", from)
	}
	sort.Strings(files)
	var games []*textworld.Game
	for _, f := range files {
		g, err := textworld.LoadFile(f)
		if err != nil {
			return err
		}
		games = append(games, g...)
	}
	var b bytes.Buffer
	if err := textworld.Pack(&b, games); err != nil {
		return err
	}
	if err := verify(b.Bytes(), games); err != nil {
		return err
	}
	tmp := out + ".tmp"
	if err := os.WriteFile(tmp, b.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.Rename(tmp, out); err != nil {
		return err
	}
	fmt.Printf("%s: %d games, %d bytes\n", out, len(games), b.Len())
	return nil
}

// verify reads the set back and compares each game with its source.
func verify(b []byte, games []*textworld.Game) error {
	back, err := textworld.ReadPack(b)
	if err != nil {
		return err
	}
	byID := make(map[string]*textworld.Game, len(back))
	for _, g := range back {
		byID[g.ID()] = g
	}
	for _, g := range games {
		p := byID[g.ID()]
		if p == nil || p.Hash() != g.Hash() || p.Ref() != g.Ref() || !slices.Equal(p.Walkthrough(), g.Walkthrough()) || transcript(p) != transcript(g) {
			return fmt.Errorf("game %s does not come back from the pack as it went in", g.ID())
		}
	}
	return nil
}

// transcript plays the stored plan in both dialects and prints everything.
func transcript(g *textworld.Game) string {
	var b strings.Builder
	for _, d := range []textworld.Dialect{textworld.DialectMove, textworld.DialectPut} {
		w := textworld.NewWorld(g, d)
		b.WriteString(w.Intro())
		for _, c := range g.WalkthroughIn(d) {
			obs, effect := w.Do(c)
			fmt.Fprintln(&b, obs, effect, w.Won(), w.AppendAdmissible(nil))
		}
	}
	return b.String()
}
