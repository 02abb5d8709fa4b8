package main

import (
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muse-agent/muse/envs/textworld"
	"github.com/muse-agent/muse/reflexion"
)

// gameFlags select games and the rules they are played by.
type gameFlags struct {
	splits, types, ids  []string
	games, list         string
	limit, sample       int
	dialect             string
	maxSteps, thinkCost int
	flags               *pflag.FlagSet
}

func (g *gameFlags) add(c *cobra.Command, split string, limit int) {
	f := c.Flags()
	g.flags = f
	var splits []string
	if split != "" {
		splits = []string{split}
	}
	g.splits = splits
	list(f, &g.splits, "split", "train, actor, val, seen or unseen (comma-separated)")
	list(f, &g.types, "type", "task types: pick, look, clean, heat, cool, two")
	list(f, &g.ids, "id", "game ids (TASK/TRIAL, or TASK where it names one game)")
	f.StringVar(&g.games, "games", "", "file with games instead of the embedded ones (all-*.jsonl.gz, .tw-pddl, .pddl)")
	f.StringVar(&g.list, "list", "", "text file with one game id a line")
	f.IntVar(&g.limit, "limit", limit, "at most so many games, 0 = all")
	f.IntVar(&g.sample, "sample", 0, "a fixed sample of so many of the selected games, 0 = all")
	g.addRules(c)
}

func (g *gameFlags) addRules(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&g.dialect, "dialect", string(textworld.DialectMove), "command language of the game: move, put, or friendly (near misses count, reasons are given)")
	f.IntVar(&g.maxSteps, "max-steps", 50, "commands an episode may have")
	f.IntVar(&g.thinkCost, "think-cost", 0, "commands a think line costs: 0, or 1 as in ALFWorld's own harnesses")
}

// runFlags are common to everything that writes a run folder.
type runFlags struct {
	out     string
	seed    uint64
	workers int
	json    bool
}

func (r *runFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&r.out, "out", "o", "", "run folder (default runs/<command>-<hash of the settings>)")
	f.Uint64Var(&r.seed, "seed", 1, "root seed of every random draw")
	f.IntVar(&r.workers, "workers", runtime.NumCPU(), "episodes played at the same time; changes no result")
	f.BoolVar(&r.json, "json", false, "print the result as JSON")
}

// agentFlags configure the agents.
type agentFlags struct {
	model, url   string
	endpoint     string
	adapter      string // files of low-rank adapters
	reflector    string
	temperature  float64
	rollouts     int
	horizon      int
	reflections  int
	contextPairs int
	plan, recall bool
	rethink      int
	doubt        float64
	forget       string
	foresee      bool
	second       bool
	earlyStop    int
	msa          string
	// record and replay are folders for the exchanges with a served model.
	record, replay string
}

func (f *agentFlags) add(c *cobra.Command) {
	d, _ := reflexion.Default("muse") // a known name
	fs := c.Flags()
	fs.StringVar(&f.model, "model", "base", "language model: weak, base or strong (embedded), a model folder, openai:NAME with --url, or toy (a script, for trying things out)")
	f.addAdapter(fs)
	fs.StringVar(&f.url, "url", "", "base URL of an OpenAI-compatible server; the key is read from MUSE_API_KEY or OPENAI_API_KEY")
	fs.StringVar(&f.endpoint, "endpoint", endpointChat, "of that server: chat, or completions (the bare text is continued: for base models and very small ones)")
	fs.StringVar(&f.record, "record", "", "folder that keeps all exchanges with the server, for --replay; one a run")
	fs.StringVar(&f.replay, "replay", "", "answer from a folder of --record; no server is asked")
	fs.Float64Var(&f.temperature, "temperature", d.Temperature, "of plans, commands, futures and reflections")
	fs.IntVar(&f.rollouts, "rollouts", d.Rollouts, "imagined futures a decision (MUSE)")
	fs.IntVar(&f.horizon, "horizon", d.Horizon, "action-observation pairs of an imagined future")
	fs.IntVar(&f.reflections, "reflections", d.Reflections, "reflections kept in the prompt (Reflexion, MUSE)")
	fs.IntVar(&f.contextPairs, "context-pairs", d.ContextPairs, "real pairs before the future in M_sa's text, 0 = paper")
	fs.BoolVar(&f.plan, "plan", d.Plan, "write a plan at the start of an episode")
	fs.BoolVar(&f.second, "second-thoughts", false, "MUSE foresees evident failures and thinks doubtful decisions over: --foresee --rethink 3 --doubt 0.15 --forget doubt")
	fs.IntVar(&f.rethink, "rethink", d.Rethink, "how often a doubtful decision imagines again (MUSE), 0 = never, the paper's")
	fs.Float64Var(&f.doubt, "doubt", d.Doubt, "probability of success below which the best future is doubtful")
	fs.StringVar(&f.forget, "forget", string(d.Forget), "commands that failed are kept out of the text: in second thoughts (doubt), or always; empty: never")
	fs.BoolVar(&f.foresee, "foresee", d.Foresee, "that memory also foresees failures which the transcript gives away")
	fs.BoolVar(&f.recall, "recall", d.Recall, "the world model remembers what was seen in this episode")
}

func (f *agentFlags) addEarlyStop(c *cobra.Command, def int) {
	c.Flags().IntVar(&f.earlyStop, "early-stop", def, "end an episode after so many \"Nothing happens.\" in a row, 0 = never; the same for all agents")
}

func (f *agentFlags) addMSA(c *cobra.Command) {
	c.Flags().StringVar(&f.msa, "msa", "", "checkpoint of the self-assessment (file or run folder of muse train selfassess)")
}

// playFlags are those of every command in which agents play games into a run folder.
type playFlags struct {
	games gameFlags
	run   runFlags
	agent agentFlags
}

// add adds them; split and earlyStop are the command's defaults.
func (p *playFlags) add(c *cobra.Command, split string, earlyStop int) {
	p.games.add(c, split, 0)
	p.run.add(c)
	p.agent.add(c)
	p.agent.addEarlyStop(c, earlyStop)
}
