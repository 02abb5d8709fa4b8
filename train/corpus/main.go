package corpus

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// Main is the corpus command: it writes one corpus file, or shows what it would
// write. Data goes to the file or stdout, figures to stderr.
func Main(args []string) (err error) {
	fs := flag.NewFlagSet("corpus", flag.ContinueOnError)
	o := Options{}
	var out string
	var fit bool
	fs.StringVar(&o.Mixture, "mixture", "base", "population of players: "+strings.Join(MixtureNames(), ", "))
	fs.IntVar(&o.Episodes, "episodes", 1000, "how many episodes")
	fs.Uint64Var(&o.Seed, "seed", 1, "root seed")
	fs.StringVar(&o.Split, "split", "actor", "games to play")
	fs.StringVar(&out, "out", "-", "file to write (.gz compresses), - for stdout, none to count only")
	fs.BoolVar(&fit, "fit", false, "also print the table of commands without effect beside that of real agents")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("corpus: unexpected argument %q; see -help", fs.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var st Stats
	switch out {
	case "none":
		st, err = Write(ctx, io.Discard, o)
	case "-":
		w := bufio.NewWriter(os.Stdout)
		st, err = Write(ctx, w, o)
		err = errors.Join(err, w.Flush())
	default:
		st, err = WriteFile(ctx, out, o)
	}
	if err != nil {
		return err
	}
	if err := st.Print(os.Stderr); err != nil {
		return err
	}
	if fit {
		return PrintFailures(os.Stderr, st.Failures)
	}
	return nil
}

// WriteFile is [Write] into a file, compressed when the name ends in ".gz". The
// file appears whole or not at all.
func WriteFile(ctx context.Context, path string, o Options) (st Stats, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return Stats{}, fmt.Errorf("corpus: %w; choose another file with -out", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	b := bufio.NewWriterSize(f, 1<<20)
	var w io.Writer = b
	var z *gzip.Writer
	if strings.HasSuffix(path, ".gz") {
		z = gzip.NewWriter(b)
		w = z
	}
	if st, err = Write(ctx, w, o); err != nil {
		return st, err
	}
	if z != nil {
		if err = z.Close(); err != nil {
			return st, fmt.Errorf("corpus: %s: %w", path, err)
		}
	}
	if err = errors.Join(b.Flush(), f.Chmod(0o644), f.Sync()); err != nil {
		return st, fmt.Errorf("corpus: %s: %w", path, err)
	}
	if err = f.Close(); err != nil {
		return st, fmt.Errorf("corpus: %s: %w", path, err)
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return st, fmt.Errorf("corpus: %w", err)
	}
	return st, nil
}
