package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// listValue is a flag with comma-separated values that may be given several times;
// the first one given replaces the default. Unlike pflag's lists it takes a value as
// it stands: paths may hold quotes and line ends, and an empty entry (as an unset
// variable of a script leaves it) is an error and not "no restriction".
type listValue struct {
	to    *[]string
	empty bool // "" is allowed and means none
	set   bool
}

// list adds a list flag; its default is what to holds.
func list(fs *pflag.FlagSet, to *[]string, name, usage string) {
	fs.Var(&listValue{to: to}, name, usage)
}

// listOrNone is list for a flag that "" switches off.
func listOrNone(fs *pflag.FlagSet, to *[]string, name, usage string) {
	fs.Var(&listValue{to: to, empty: true}, name, usage)
}

func (l *listValue) Type() string   { return "strings" }
func (l *listValue) String() string { return strings.Join(*l.to, ",") }

func (l *listValue) Set(s string) error {
	var vs []string
	if s != "" || !l.empty {
		vs = strings.Split(s, ",")
	}
	if slices.Contains(vs, "") {
		return errors.New("an entry of the list is empty")
	}
	if !l.set {
		*l.to, l.set = nil, true
	}
	*l.to = append(*l.to, vs...)
	return nil
}

// once refuses a name that is there twice.
func once(what string, names []string) error {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return usagef("two %s are called %q; give each a name of its own, once", what, n)
		}
	}
	return nil
}
