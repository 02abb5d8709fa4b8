package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muse-agent/muse/internal/llm/openai"
)

// The server that all commands use where their flags name none.
const (
	envServerURL   = "MUSE_LLM_URL"   // base address, ending in /v1
	envServerModel = "MUSE_LLM_MODEL" // the server's name of the model
	envServerKey   = "MUSE_LLM_KEY"
)

// Values of --endpoint.
const (
	endpointChat        = "chat"
	endpointCompletions = "completions"
)

// keyEnv is the variable that holds the key: the first one that is set.
func (a *app) keyEnv() string {
	for _, v := range []string{openai.DefaultKeyEnv, envServerKey, "OPENAI_API_KEY"} {
		if _, ok := a.getenv(v); ok {
			return v
		}
	}
	return openai.DefaultKeyEnv
}

// layerServer puts the server of the variables in place of flags that nobody set: the
// model that plays, and the one that answers questions.
func (a *app) layerServer(c *cobra.Command) error {
	url, _ := a.getenv(envServerURL)
	model, _ := a.getenv(envServerModel)
	if url == "" && model == "" {
		return nil
	}
	fs := c.Flags()
	free := func(name string) bool { f := fs.Lookup(name); return f != nil && !f.Changed }
	set := func(name, value string) error {
		if err := fs.Set(name, value); err != nil {
			return usagef("%s, %s: bad value %q for --%s: %v", envServerURL, envServerModel, value, name, err)
		}
		return nil
	}
	if fs.Lookup("url") != nil && fs.Lookup("model") != nil {
		if free("model") && model != "" {
			if err := set("model", "openai:"+model); err != nil {
				return err
			}
		}
		played, _ := fs.GetString("model")
		if r := fs.Lookup("replay"); strings.HasPrefix(played, "openai:") && free("url") && url != "" && (r == nil || r.Value.String() == "") {
			if err := set("url", url); err != nil {
				return err
			}
		}
	}
	if url == "" || model == "" {
		return nil
	}
	if free("thinker") {
		if err := set("thinker", model+"@"+url); err != nil {
			return err
		}
	}
	if s, _ := fs.GetString("system"); s == sysEnsemble && free("node") {
		return set("node", strings.Join(slices.Repeat([]string{model + "@" + url}, 3), ","))
	}
	return nil
}
