package textworld

import (
	"fmt"
	"strings"
)

// State is the full state of a world as a JSON-ready value. Privileged.
type State struct {
	Game        string            `json:"game"`
	Hash        string            `json:"hash"`
	Dialect     Dialect           `json:"dialect"`
	Goal        string            `json:"goal"`
	Location    int               `json:"location"` // number of the agent's location
	Facing      []string          `json:"facing"`   // receptacles there
	Carrying    string            `json:"carrying"` // "" when the hand is empty
	Won         bool              `json:"won"`
	Steps       int               `json:"steps"` // commands counted; 0 for a bare World
	Receptacles []ReceptacleState `json:"receptacles"`
	Objects     []ObjectState     `json:"objects"`
}

// ReceptacleState is one receptacle of a State.
type ReceptacleState struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"` // the type that rules go by
	Location int      `json:"location"`
	Opens    bool     `json:"opens"`
	Open     bool     `json:"open"`
	Contents []string `json:"contents"`
}

// ObjectState is one object of a State, the unreachable ones on the floor included.
type ObjectState struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	In         []string `json:"in"` // receptacles that list it; can be several
	Held       bool     `json:"held"`
	Properties []string `json:"properties"` // PDDL predicates that hold now
}

// Describe returns the full state.
func (w *World) Describe() State {
	c := w.c
	s := State{
		Game: c.data.id, Hash: c.data.hash(), Dialect: w.Dialect(), Goal: c.data.goalText,
		Location: c.data.start, Facing: []string{}, Carrying: w.Carrying(), Won: w.won,
		Receptacles: []ReceptacleState{}, Objects: []ObjectState{},
	}
	for _, r := range c.at[w.loc] {
		s.Location = c.data.recs[r].loc
		s.Facing = append(s.Facing, c.recs[r].name)
	}
	for i := range c.recs {
		r := ReceptacleState{
			Name: c.recs[i].name, Type: c.recs[i].rtype, Location: c.data.recs[i].loc,
			Opens: c.recs[i].opens, Open: w.isOpen(int16(i)), Contents: []string{},
		}
		for o := range c.objs {
			if has(w.in(int16(i)), o) {
				r.Contents = append(r.Contents, c.objs[o].name)
			}
		}
		s.Receptacles = append(s.Receptacles, r)
	}
	state := [len(flagNames)]int{flagIsClean: c.offClean, flagIsHot: c.offHot, flagIsCool: c.offCool, flagIsSliced: c.offSliced, flagIsOn: c.offOn}
	for i := range c.objs {
		o := ObjectState{Name: c.objs[i].name, Type: c.objs[i].otype, In: []string{}, Held: int(w.held) == i, Properties: []string{}}
		for r := range c.recs {
			if has(w.in(int16(r)), i) {
				o.In = append(o.In, c.recs[r].name)
			}
		}
		for f, n := range flagNames {
			row := c.flags[f]
			if state[f] > 0 {
				row = w.row(state[f])
			}
			if has(row, i) {
				o.Properties = append(o.Properties, n)
			}
		}
		s.Objects = append(s.Objects, o)
	}
	return s
}

// Describe implements envs.Describer: a State, nil before the first Reset.
func (e *Env) Describe() any {
	if e.world == nil {
		return nil
	}
	s := e.world.Describe()
	s.Steps = e.steps
	return s
}

// Render implements envs.Renderer: the room as a table, for people. Privileged,
// as it shows what closed receptacles hold.
func (e *Env) Render() string {
	if e.world == nil {
		return "(not reset)\n"
	}
	s := e.Describe().(State)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ngoal: %s  step %d/%d", s.Game, s.Goal, s.Steps, e.opt.MaxSteps)
	if s.Won {
		b.WriteString("  WON")
	}
	fmt.Fprintf(&b, "\nhand: %s\n", orDash(s.Carrying))
	for _, r := range s.Receptacles {
		mark, door := " ", " "
		if r.Location == s.Location {
			mark = ">"
		}
		if r.Opens {
			door = "-"
			if r.Open {
				door = "o"
			}
		}
		fmt.Fprintf(&b, "%s %s %-20s %s\n", mark, door, r.Name, orDash(strings.Join(r.Contents, ", ")))
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
