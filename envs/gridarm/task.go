package gridarm

import (
	"fmt"
	"strings"
)

// Task is one of the manipulation tasks. The numbers are stable; those of the
// training tasks (1 to 10) are what the task channel of an observation shows.
type Task int

// The ten training tasks, the ten novel ones and one extra. A few names of the
// paper's figures are none of Meta-World's; docs/envs/gridarm.md says what was taken.
const (
	Reach Task = iota + 1
	Push
	PickPlace
	DoorOpen
	DrawerOpen
	DrawerClose
	ButtonPressTopdown
	PegInsertSide
	WindowOpen
	WindowClose

	ButtonPressTopdownWall
	Soccer
	PushWall
	PushBack
	CoffeeButton
	PlateSlide
	PegUnplugSide
	LeverPull
	HandlePress
	DoorUnlock

	SweepInto
)

const (
	firstNovel = ButtonPressTopdownWall
	lastTask   = SweepInto
)

// TrainingTaskCount is the number of training tasks, the largest id in the task channel.
const TrainingTaskCount = int(firstNovel) - 1

// TrainingTasks are Meta-World's MT10, in its order.
func TrainingTasks() []Task { return span(Reach, firstNovel-1) }

// NovelTasks are the ten tasks to adapt to.
func NovelTasks() []Task { return span(firstNovel, DoorUnlock) }

// Tasks are all tasks: training, novel, then the extra one.
func Tasks() []Task { return span(Reach, lastTask) }

func span(from, to Task) []Task {
	var ts []Task
	for t := from; t <= to; t++ {
		ts = append(ts, t)
	}
	return ts
}

// Valid reports whether t is one of Tasks.
func (t Task) Valid() bool { return t >= Reach && t <= lastTask }

// Novel reports whether t is none of the training tasks.
func (t Task) Novel() bool { return t >= firstNovel }

// Channel is the id of the task in an observation: 1 to 10 for the training tasks, 0
// (unknown) for all others.
func (t Task) Channel() int {
	if !t.Valid() || t.Novel() {
		return 0
	}
	return int(t)
}

// String is the name of Meta-World, without its version: "drawer-open".
func (t Task) String() string {
	if !t.Valid() {
		return fmt.Sprintf("task(%d)", int(t))
	}
	return specs[t].name
}

// MarshalText is the name: tasks are words in JSON.
func (t Task) MarshalText() ([]byte, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("gridarm: there is no task number %d", int(t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads a name, as ParseTask does.
func (t *Task) UnmarshalText(b []byte) error {
	got, err := ParseTask(string(b))
	if err == nil {
		*t = got
	}
	return err
}

// Summary is what the task asks for, one sentence.
func (t Task) Summary() string {
	if !t.Valid() {
		return ""
	}
	return specs[t].summary
}

// ParseTask finds a task by its name, with or without "gridarm/" in front.
func ParseTask(name string) (Task, error) {
	n := strings.TrimPrefix(strings.TrimSpace(name), "gridarm/")
	var known []string
	for _, t := range Tasks() {
		if t.String() == n {
			return t, nil
		}
		known = append(known, t.String())
	}
	return 0, fmt.Errorf("gridarm: unknown task %q; known are %s", name, strings.Join(known, ", "))
}

// ParseTasks reads a list of names, in which "mt10" (or "train") stands for the
// training tasks, "novel" for the ten novel ones and "all" for all.
func ParseTasks(names []string) ([]Task, error) {
	var ts []Task
	for _, n := range names {
		switch strings.TrimSpace(n) {
		case "mt10", "train":
			ts = append(ts, TrainingTasks()...)
		case "novel":
			ts = append(ts, NovelTasks()...)
		case "all":
			ts = append(ts, Tasks()...)
		default:
			t, err := ParseTask(n)
			if err != nil {
				return nil, fmt.Errorf("%w (or the groups mt10, novel, all)", err)
			}
			ts = append(ts, t)
		}
	}
	seen := map[Task]bool{}
	for _, t := range ts {
		if seen[t] {
			return nil, fmt.Errorf("gridarm: task %s is named twice in %q", t, names)
		}
		seen[t] = true
	}
	return ts, nil
}
