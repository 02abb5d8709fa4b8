package worldmodel

import "fmt"

// Model is a world model with its actor and critic. Reading it from several
// goroutines is safe while nobody trains it; each goroutine needs its own [Sim].
type Model struct {
	cfg Config
	net *net[float32]
}

// New returns a model with initial weights drawn from seed.
func New(cfg Config, seed uint64) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, net: newNet[float32](cfg)}
	m.net.init(seed)
	return m, nil
}

// Config returns the settings of the model.
func (m *Model) Config() Config { return m.cfg }

// Params is the number of trained parameters.
func (m *Model) Params() int { return m.net.size() }

// Parts counts the trained parameters of each part: enc, cell, post, prior, dec,
// reward, continue, psi, actor, critic.
func (m *Model) Parts() map[string]int {
	parts := map[string]int{}
	for _, t := range m.net.tensors {
		if t.group == groupSlow {
			continue
		}
		for i := range t.name {
			if t.name[i] == '.' {
				parts[t.name[:i]] += t.n
				break
			}
		}
	}
	return parts
}

// String is "worldmodel: 258066 parameters, h 128, z 8×8".
func (m *Model) String() string {
	return fmt.Sprintf("worldmodel: %d parameters, h %d, z %d×%d", m.Params(), m.cfg.Deter, m.cfg.Stoch, m.cfg.Classes)
}
