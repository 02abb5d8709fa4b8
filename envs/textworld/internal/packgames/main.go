// Command packgames packs published game files into the compact set that the
// textworld package embeds:
//
//	go run ./envs/textworld/internal/packgames -from DIR -out envs/textworld/games.bin
//
// DIR holds all-train-games.jsonl.gz and all-valid-games.jsonl.gz. The bytes
// written depend on the games alone.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"

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
