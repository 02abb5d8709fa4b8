package viewer

// Turns is the number of turns that were read.
func (g *Game) Turns() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.turns
}
