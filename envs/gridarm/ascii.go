package gridarm

// Render implements envs.Renderer.
func (e *Env) Render() string { return "" }
