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

	"github.com/muse-agent/muse/internal/embed"
	"github.com/muse-agent/muse/internal/llm/openai"
	"github.com/muse-agent/muse/internal/nearest"
	"github.com/muse-agent/muse/internal/onnx"
)

// otherVariables are the MUSE_* variables beside those that stand for flags: whatever
// reads another one is to be added here.
var otherVariables = []string{
	"MUSE_CONFIG", openai.DefaultKeyEnv, "MUSE_JUDGE_KEY", tokenEnv, envServerURL, envServerModel, envServerKey,
	"MUSE_EMBED_CACHE", "MUSE_ORT_LIB", onnx.DepsEnv, embed.DirEnv, "MUSE_CPUPROFILE",
}

// settable says whether a flag may also come from variables and files.
func settable(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "version" && f.Name != "config"
}

// variable is the name of a flag's variable: MUSE_MAX_STEPS of --max-steps.
func variable(flag string) string {
	return "MUSE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// layer fills the flags of c that were not given on the command line: from MUSE_*
// variables, else from the --config file, whose keys are flag names, at the top
// level for all commands or under a command's name ("eval", "train selfassess").
func (a *app) layer(c *cobra.Command) error {
	if err := a.checkVariables(c.Root()); err != nil {
		return err
	}
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
		if first != nil || f.Changed || !settable(f) {
			return
		}
		env := variable(f.Name)
		if v, ok := a.getenv(env); ok {
			first = set(f, v, env)
		} else if v, ok := file[f.Name]; ok {
			first = set(f, v, a.config)
		}
	})
	if first != nil {
		return first
	}
	return a.layerServer(c)
}

// checkVariables looks for MUSE_* variables that no command reads. One that is a
// letter or two from a known one is an error, as its value would be missed; others may
// be another program's and are only told.
func (a *app) checkVariables(root *cobra.Command) error {
	known := map[string]bool{}
	for _, v := range otherVariables {
		known[v] = true
	}
	_, flags := settings(root)
	for name := range flags {
		known[variable(name)] = true
	}
	names := keys(known)
	env := os.Environ()
	sort.Strings(env)
	for _, v := range env {
		v, _, _ = strings.Cut(v, "=")
		if !strings.HasPrefix(v, "MUSE_") || known[v] {
			continue
		}
		best, d := nearest.Of(v, names)
		if d <= max(1, (len(v)-len("MUSE_"))/4) {
			return usagef("unknown variable %.80q, did you mean %q? Correct its name, or unset it", v, best)
		}
		fmt.Fprintf(a.stderr, "muse: variable %.80q is not one of muse's and is not read\n", v)
	}
	return nil
}

// settings lists all commands by their path without the program's name, and the
// flags that can be set for any of them.
func settings(root *cobra.Command) (commands map[string]*cobra.Command, flags map[string]bool) {
	commands, flags = map[string]*cobra.Command{}, map[string]bool{}
	add := func(f *pflag.Flag) {
		if settable(f) {
			flags[f.Name] = true
		}
	}
	var walk func(*cobra.Command)
	walk = func(x *cobra.Command) {
		if x.HasParent() {
			commands[strings.TrimPrefix(x.CommandPath(), root.Name()+" ")] = x
		}
		x.Flags().VisitAll(add)
		x.PersistentFlags().VisitAll(add)
		for _, s := range x.Commands() {
			walk(s)
		}
	}
	walk(root)
	return commands, flags
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
		return nil, usagef("--config %s: not JSON: %v", a.config, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || top == nil {
		return nil, usagef("--config %s: want one JSON object and nothing after it", a.config)
	}
	commands, all := settings(c.Root())
	out := map[string]string{}
	mine := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	put := func(key, flag string, v any) error {
		t, ok := text(v)
		if !ok {
			return usagef("--config %s: the value of %q must be a text, number, true, false or a list of these", a.config, key)
		}
		out[flag] = t
		return nil
	}
	for _, k := range keys(top) {
		sub, isMap := top[k].(map[string]any)
		if !isMap {
			if commands[k] != nil && !all[k] {
				return nil, usagef("--config %s: %q is a command: its value must be an object of settings", a.config, k)
			}
			if !all[k] {
				return nil, unknownKey(a.config, k, all, commands)
			}
			if _, taken := out[k]; !taken { // a command's own value counts more
				if err := put(k, k, top[k]); err != nil {
					return nil, err
				}
			}
			continue
		}
		cmd, ok := commands[k]
		if !ok {
			return nil, unknownKey(a.config, k, all, commands)
		}
		for _, f := range keys(sub) {
			if _, ok := commands[k+" "+f]; ok {
				return nil, usagef("--config %s: write the settings of a command below another one as %q: {…}", a.config, k+" "+f)
			}
			names := map[string]bool{}
			add := func(f *pflag.Flag) {
				if settable(f) {
					names[f.Name] = true
				}
			}
			cmd.Flags().VisitAll(add)
			cmd.InheritedFlags().VisitAll(add)
			if !names[f] {
				return nil, unknownKey(a.config, k+"."+f, names, nil)
			}
			if k == mine {
				if err := put(k+"."+f, f, sub[f]); err != nil {
					return nil, err
				}
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

// text is a JSON value as a flag takes it; lists become comma-separated. Objects, and
// null, are not values of flags.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case nil, map[string]any:
		return "", false
	case []any:
		s := make([]string, len(v))
		for i, x := range v {
			t, ok := text(x)
			if _, nested := x.([]any); !ok || nested || strings.Contains(t, ",") {
				return "", false // a comma would make two entries of one
			}
			s[i] = t
		}
		return strings.Join(s, ","), true
	}
	return fmt.Sprint(v), true
}
