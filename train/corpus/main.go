package corpus

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/muse-agent/muse/internal/atomicfile"
)

// ErrUsage is matched by errors about how a corpus was asked for.
var ErrUsage = errors.New("corpus")

// Main is the corpus command: it writes one corpus file, or shows what it would
// write. Data goes to the file or stdout, words and figures to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("corpus", flag.ContinueOnError)
	fs.SetOutput(stderr)
	o := Options{}
	var out string
	var fit bool
	fs.StringVar(&o.Mixture, "mixture", "base", "population of players: "+strings.Join(MixtureNames(), ", "))
	fs.IntVar(&o.Episodes, "episodes", 1000, "how many episodes")
	fs.Uint64Var(&o.Seed, "seed", 1, "root seed")
	fs.StringVar(&o.Split, "split", "actor", "games to play")
	fs.StringVar(&out, "out", "-", "file to write (.gz compresses), - for stdout, none to count only")
	fs.BoolVar(&fit, "fit", false, "also print the table of commands without effect beside that of real agents")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q; see -help", ErrUsage, fs.Arg(0))
	}
	var st Stats
	var err error
	switch out {
	case "none":
		st, err = Write(ctx, io.Discard, o)
	case "-":
		w := bufio.NewWriter(stdout)
		st, err = Write(ctx, w, o)
		err = errors.Join(err, w.Flush())
	default:
		st, err = WriteFile(ctx, out, o)
	}
	if err != nil {
		return err
	}
	if err := st.Print(stderr); err != nil {
		return err
	}
	if fit {
		return PrintFailures(stderr, st.Failures)
	}
	return nil
}

// WriteFile is [Write] into a file, compressed when the name ends in ".gz". The
// file appears whole or not at all.
func WriteFile(ctx context.Context, path string, o Options) (st Stats, err error) {
	err = atomicfile.Write(path, 0o644, func(f io.Writer) (err error) {
		b := bufio.NewWriterSize(f, 1<<20)
		if !strings.HasSuffix(path, ".gz") {
			st, err = Write(ctx, b, o)
			return errors.Join(err, b.Flush())
		}
		z := gzip.NewWriter(b)
		st, err = Write(ctx, z, o)
		return errors.Join(err, z.Close(), b.Flush())
	})
	if err != nil && !errors.Is(err, ErrUsage) && ctx.Err() == nil {
		err = fmt.Errorf("corpus: %w; choose another file with -out", err)
	}
	return st, err
}
