package serve

import (
	"fmt"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/textworld"
)

// Textworld makes text games: environment i plays game i, again from the first when
// there are more environments than games. base are the games to choose from, nil for
// all that the program holds.
func Textworld(base []*textworld.Game) Maker {
	return func(o MakeOptions, n int) ([]envs.Env, []string, error) {
		if o.Env != "" && o.Env != textworld.SpecID {
			return nil, nil, fmt.Errorf("%w: unknown env %q; known is %q", ErrRequest, o.Env, textworld.SpecID)
		}
		opt := textworld.Options{Dialect: textworld.Dialect(o.Dialect), MaxSteps: o.MaxSteps, ListAdmissible: o.Admissible}
		if err := opt.Validate(); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrRequest, err)
		}
		games := base
		if base == nil || o.Split != "" || len(o.Types) > 0 || len(o.Games) > 0 {
			s := textworld.Selection{Types: o.Types, IDs: o.Games}
			if o.Split != "" {
				s.Splits = []string{o.Split}
			}
			var err error
			if games, err = textworld.Select(s); err != nil {
				return nil, nil, fmt.Errorf("%w: %w", ErrRequest, err)
			}
		}
		es, ids := make([]envs.Env, n), make([]string, n)
		for i := range es {
			g := games[i%len(games)]
			es[i], ids[i] = textworld.New(g, opt), g.ID()
		}
		return es, ids, nil
	}
}
