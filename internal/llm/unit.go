package llm

import (
	"context"
	"strings"
)

// unitKey is the context key of the unit of work.
type unitKey struct{}

// unitSep joins nested names; no name of a game, agent or phase holds it.
const unitSep = "|"

// InUnit names the piece of work that calls under ctx belong to: an episode, or below
// one a candidate. Backends answer the same whatever its name. It is there for
// recordings: pieces run side by side and ask equal questions, and each must get back
// the answers that were its own.
func InUnit(ctx context.Context, name string) context.Context {
	if u := UnitOf(ctx); u != "" {
		name = u + unitSep + name
	}
	return context.WithValue(ctx, unitKey{}, name)
}

// OutsideUnits is for calls that serve all units, such as a probe of a server.
func OutsideUnits(ctx context.Context) context.Context {
	return context.WithValue(ctx, unitKey{}, "")
}

// UnitOf is the full name of the unit of work, "" outside of all.
func UnitOf(ctx context.Context) string {
	u, _ := ctx.Value(unitKey{}).(string)
	return u
}

// TopUnit is the outermost name in a full one.
func TopUnit(unit string) string {
	top, _, _ := strings.Cut(unit, unitSep)
	return top
}
