package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// layer fills the flags of c that were not given on the command line: from MUSE_*
// variables, else from the --config file, whose keys are flag names, at the top
// level for all commands or under a command's name ("eval", "train selfassess").
func (a *app) layer(c *cobra.Command) error {
	set := func(f *pflag.Flag, value, from string) error {
		if err := c.Flags().Set(f.Name, value); err != nil {
			return usagef("%s: bad value %q for %s: %v", from, value, f.Name, err)
		}
		return nil
	}
	if v, ok := a.getenv("MUSE_CONFIG"); ok && a.config == "" {
		a.config = v
	}
	file, err := a.readConfig(c)
	if err != nil {
		return err
	}
	var first error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if first != nil || f.Changed || f.Name == "help" || f.Name == "version" || f.Name == "config" {
			return
		}
		env := "MUSE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v, ok := a.getenv(env); ok {
			first = set(f, v, env)
		} else if v, ok := file[f.Name]; ok {
			first = set(f, v, a.config)
		}
	})
	return first
}

// readConfig returns the file's settings for command c; unknown keys are errors.
func (a *app) readConfig(c *cobra.Command) (map[string]string, error) {
	if a.config == "" {
		return nil, nil
	}
	b, err := os.ReadFile(a.config)
	if err != nil {
		return nil, usagef("--config: %v", err)
	}
	var top map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // large seeds keep their digits
	if err := d.Decode(&top); err != nil {
		return nil, usagef("--config %s: %v", a.config, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || top == nil {
		return nil, usagef("--config %s: want one JSON object and nothing after it", a.config)
	}
	commands, all := map[string]*cobra.Command{}, map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(x *cobra.Command) {
		if x.HasParent() {
			commands[strings.TrimPrefix(x.CommandPath(), x.Root().Name()+" ")] = x
		}
		x.Flags().VisitAll(func(f *pflag.Flag) { all[f.Name] = true })
		x.PersistentFlags().VisitAll(func(f *pflag.Flag) { all[f.Name] = true })
		for _, s := range x.Commands() {
			walk(s)
		}
	}
	walk(c.Root())
	out := map[string]string{}
	mine := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	for _, k := range keys(top) {
		sub, isMap := top[k].(map[string]any)
		if !isMap {
			if commands[k] != nil && !all[k] {
				return nil, usagef("--config %s: %q is a command: its value must be an object of settings", a.config, k)
			}
			if !all[k] {
				return nil, unknownKey(a.config, k, all, commands)
			}
			if _, taken := out[k]; !taken {
				out[k] = text(top[k])
			}
			continue
		}
		cmd, ok := commands[k]
		if !ok {
			return nil, unknownKey(a.config, k, all, commands)
		}
		for _, f := range keys(sub) {
			if cmd.Flags().Lookup(f) == nil && cmd.InheritedFlags().Lookup(f) == nil {
				names := map[string]bool{}
				cmd.Flags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
				return nil, unknownKey(a.config, k+"."+f, names, nil)
			}
			if k == mine {
				out[f] = text(sub[f])
			}
		}
	}
	return out, nil
}

func unknownKey(path, key string, flags map[string]bool, commands map[string]*cobra.Command) error {
	var names []string
	for n := range flags {
		names = append(names, n)
	}
	for n := range commands {
		names = append(names, n)
	}
	sort.Strings(names)
	last := key[strings.LastIndex(key, ".")+1:]
	return usagef("--config %s: unknown key %q%s", path, key, didYouMean(last, names))
}

func keys[V any](m map[string]V) []string {
	ks := make([]string, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	return ks
}

// text is a JSON value as a flag takes it; lists become comma-separated.
func text(v any) string {
	if l, ok := v.([]any); ok {
		s := make([]string, len(l))
		for i, x := range l {
			s[i] = fmt.Sprint(x)
		}
		return strings.Join(s, ",")
	}
	return fmt.Sprint(v)
}
