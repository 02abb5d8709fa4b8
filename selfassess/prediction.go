package selfassess

// Prediction is one assessed row with what really happened: the input of all metrics.
type Prediction struct {
	Task   string  `json:"task"` // game id: the unit that is resampled
	Label  float64 `json:"label"`
	P      float64 `json:"p"`
	Raw    float64 `json:"raw"`
	Chunk  int     `json:"chunk"`
	Last   bool    `json:"last"`
	State  string  `json:"state,omitempty"`  // siblings share it
	Action string  `json:"action,omitempty"` // first action, tells siblings apart
}

func predictionOf(e *Example, a Assessment) Prediction {
	p := Prediction{Task: e.Task, Label: e.Label, P: a.P, Raw: a.Raw, Chunk: e.Chunk, Last: e.Last, State: e.State}
	if e.State != "" && len(e.Input.Pairs) > 0 {
		p.Action = e.Input.Pairs[0].Action
	}
	return p
}
