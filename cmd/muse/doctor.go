package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/internal/llm/embedded"
)

// check is one line of the doctor.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Needed bool   `json:"needed"` // without it the main commands don't work
	Detail string `json:"detail"`
}

// nativeBuild says whether the program was built with the native tag.
func nativeBuild() bool { return embedded.Available }

func doctorCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check what this machine and build can do", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			checks := a.diagnose(c)
			var err error
			for _, x := range checks {
				if x.Needed && !x.OK {
					err = errors.New("doctor: something that the main commands need is missing, see above")
				}
			}
			if asJSON {
				if e := a.printJSON(checks); e != nil {
					return e
				}
				return err
			}
			for _, x := range checks {
				mark := "ok  "
				if !x.OK && x.Needed {
					mark = "FAIL"
				} else if !x.OK {
					mark = "-   "
				}
				fmt.Fprintf(a.stdout, "%s %-18s %s\n", mark, x.Name, x.Detail)
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) diagnose(c *cobra.Command) []check {
	var out []check
	add := func(name string, needed bool, err error, detail string) {
		if err != nil {
			detail = err.Error()
		}
		out = append(out, check{name, err == nil, needed, detail})
	}
	add("build", false, nil, fmt.Sprintf("muse %s, %s %s/%s, %d CPUs", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()))
	games, err := textworld.Select(textworld.Selection{})
	add("games", true, err, fmt.Sprintf("%d embedded games, rules %s", len(games), textworld.SpecVersion))
	if !nativeBuild() {
		add("native parts", true, errNative, "")
	}
	for _, name := range embedded.Shipped() {
		m, err := embedded.Open(name, embedded.Options{})
		detail := ""
		if err == nil {
			i := m.Info()
			detail = fmt.Sprintf("%s, context %d tokens, hash %.12s", i.Name, i.Caps.Context, i.Hash)
			err = m.Close()
		}
		add("model "+name, true, err, detail)
	}
	e, err := a.openEmbedder()
	detail := ""
	if err == nil {
		var v [][]float32
		if v, err = e.Embed(c.Context(), []string{"hello"}); err == nil {
			detail = fmt.Sprintf("%d numbers, hash %.12s", len(v[0]), e.Hash())
		}
		err = errors.Join(err, e.Close())
	}
	add("sentence embedder", true, err, detail)
	if d := os.Getenv("DISPLAY"); d == "" {
		add("display", false, errors.New("none (only a viewer's window needs one)"), "")
	} else {
		add("display", false, nil, d)
	}
	return out
}
