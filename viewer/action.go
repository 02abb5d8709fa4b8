package viewer

// Action is what a key, a click or a drag asks for.
type Action struct {
	Do    string  // one of the names in [Controls], or of a part of the picture
	Index int     // of an episode, a step, a filter
	Value float64 // of a drag: where between 0 and 1
}
