package gridarm_test

import (
	"testing"

	"github.com/muse-agent/muse/envs"
	"github.com/muse-agent/muse/envs/envtest"
	"github.com/muse-agent/muse/envs/gridarm"
)

func TestConformance(t *testing.T) {
	for _, task := range gridarm.Tasks() {
		t.Run(task.String(), func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) { return gridarm.New(task, gridarm.Options{}) }, envtest.Options{Seed: 3})
		})
	}
	for name, o := range map[string]gridarm.Options{
		"grid": {Grid: true, TaskChannel: gridarm.ChannelOneHot}, "short": {MaxSteps: 7, TaskChannel: gridarm.ChannelNone},
		"ends": {EndOnSuccess: true, PartiallyObservable: true, HideTask: true},
	} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func() (envs.Env, error) { return gridarm.New(gridarm.Push, o) }, envtest.Options{})
		})
	}
}
