package worldmodel

import (
	"strings"
	"testing"
)

// TestParameterCount compares with published counts: torchrl's DreamerV3 on DMC
// walker (24 observations, 6 actions) has 640,867 parameters, part by part.
func TestParameterCount(t *testing.T) {
	c, err := Preset("size1m")
	if err != nil {
		t.Fatal(err)
	}
	c.Obs, c.Action, c.Quantiles = 24, 6, 0
	m, err := New(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := m.Parts()
	for _, want := range []struct {
		part string
		n    int
	}{{"encoder", 10112}, {"rssm", 364416}, {"dec", 51096}, {"reward", 57663}, {"continue", 41153}, {"actor", 50316}, {"critic", 66111}} {
		got := p[want.part]
		switch want.part {
		case "encoder":
			got = p["enc"]
		case "rssm":
			got = p["cell"] + p["post"] + p["prior"]
		}
		if got != want.n {
			t.Errorf("%s has %d parameters, want %d", want.part, got, want.n)
		}
	}
	if m.Params() != 640867 {
		t.Errorf("%d parameters, want 640867", m.Params())
	}
	// The same sizes with N = 5 at 50 observations and 4 actions.
	for name, want := range map[string]int{"tiny": 258066, "small": 568274, "size1m": 685246} {
		c, _ := Preset(name)
		c.Obs, c.Action, c.Reward = 50, 4, RewardTwoHot
		if m, err := New(c, 1); err != nil || m.Params() != want {
			t.Errorf("%s: %v, want %d parameters (%v)", name, m, want, err)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, name := range PresetNames() {
		c, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Preset("tinny"); err == nil || !strings.Contains(err.Error(), `"tiny"?`) {
		t.Errorf("no hint: %v", err)
	}
	c, _ := Preset("tiny")
	c.Blocks, c.Bins, c.LR = 3, 4, 0
	if err := c.Validate(); err == nil || strings.Count(err.Error(), "worldmodel:") != 3 {
		t.Errorf("want three problems: %v", err)
	}
}
