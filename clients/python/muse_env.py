"""Gymnasium environments played by muse: ALFWorld's text games, natively fast.

One file, needs gymnasium and numpy, and the program `muse` on the PATH (or its path in
the variable MUSE_SERVER). Each environment starts `muse envs serve` and talks to it over
a pipe, or to a server that runs already (url="http://127.0.0.1:8765").

    import muse_env
    env = muse_env.MuseEnv(split="unseen")
    obs, info = env.reset(seed=1)
    obs, reward, terminated, truncated, info = env.step("go to desk 1")

    venv = muse_env.MuseVectorEnv(256, split="train")   # one request steps all of them

success is in info only on the step that ends an episode: terminated or truncated alone
does not mean that the task was done.
"""

import json
import os
import shutil
import string
import subprocess
import urllib.error
import urllib.request

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

VERSION = "muse/envs@1"
CHARSET = frozenset(string.printable)


class MuseError(RuntimeError):
    """An answer of the server that says what went wrong."""


class _Pipe:
    """A server of one's own, a line in, a line out."""

    def __init__(self, command):
        env = {k: v for k, v in os.environ.items() if k != "MUSE_SERVER"}  # ours, not the program's
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def ask(self, request):
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except (BrokenPipeError, ValueError) as e:
            raise MuseError(f"the server has ended: {e}") from e
        if not line:
            raise MuseError(f"the server has ended (exit status {self.process.poll()})")
        return json.loads(line)

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()


class _HTTP:
    """A server that runs already: `muse envs serve --http 127.0.0.1:8765`."""

    def __init__(self, url):
        self.url = url.rstrip("/") + "/v1"

    def ask(self, request):
        r = urllib.request.Request(self.url, json.dumps(request).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(r) as f:
                return json.load(f)
        except urllib.error.HTTPError as e:
            return json.load(e)

    def close(self):
        pass


def _connect(url):
    if url:
        return _HTTP(url)
    program = os.environ.get("MUSE_SERVER") or shutil.which("muse")
    if not program:
        raise MuseError("the program muse is not on the PATH; put it there, or its path into MUSE_SERVER")
    return _Pipe([program] if os.environ.get("MUSE_SERVE_PIPE") else [program, "envs", "serve", "--quiet"])


class _Session:
    """One session: n environments behind one connection."""

    def __init__(self, n, url, autoreset, options):
        self.link = _connect(url)
        self.id = None
        try:
            made = self.ask({"op": "make", "n": n, "autoreset": autoreset, "options": options})
        except BaseException:
            self.link.close()
            raise
        if made.get("version") != VERSION:
            self.link.close()
            raise MuseError(f"the server speaks {made.get('version')}, this client {VERSION}")
        self.id, self.spec, self.games = made["session"], made["spec"], made["games"]

    def ask(self, request):
        if self.id is not None:
            request["session"] = self.id
        answer = self.link.ask(request)
        if "error" in answer:
            raise MuseError(answer["error"])
        return answer

    def close(self):
        if self.link is None:
            return
        try:
            self.ask({"op": "close"})
        except MuseError:
            pass
        self.link.close()
        self.link = None


def _spaces(spec):
    text = lambda s: gymnasium.spaces.Text(max_length=s["max_length"], min_length=0, charset=CHARSET)
    return text(spec["observation_space"]), text(spec["action_space"])


def _info(told):
    info = dict(told.get("extra") or {})
    for key in ("success", "steps"):
        if key in told:
            info[key] = told[key]
    return info


class MuseEnv(gymnasium.Env):
    """One game after the other: reset plays the chosen game, reset(options={"game": ID}) another.

    split, types, games choose the game (the first that fits); dialect is "move", "put"
    or "friendly"; admissible puts the possible commands into
    info["admissible_commands"].
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(self, split=None, types=None, games=None, dialect=None, max_steps=None, admissible=False, url=None, render_mode=None):
        options = dict(split=split, types=types, games=games, dialect=dialect, max_steps=max_steps, admissible=admissible)
        self._session = _Session(1, url, False, {k: v for k, v in options.items() if v})
        self.observation_space, self.action_space = _spaces(self._session.spec)
        self.render_mode = render_mode
        self.game = self._session.games[0]
        self._text = ""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        request = {"op": "reset"}
        if seed is not None:
            request["seed"] = seed
        if options:
            request["reset_options"] = options
        answer = self._session.ask(request)
        self._text = answer["obs"][0]
        return self._text, _info(answer.get("infos", {}).get("0", {}))

    def step(self, action):
        answer = self._session.ask({"op": "step", "actions": [str(action)]})
        obs = answer["obs"][0]
        self._text += f"\n> {action}\n{obs}"
        info = _info(answer.get("infos", {}).get("0", {}))
        return obs, float(answer["reward"][0]), answer["terminated"][0], answer["truncated"][0], info

    def render(self):
        """The transcript so far: what the player saw, nothing else."""
        return self._text if self.render_mode == "ansi" else None

    def close(self):
        self._session.close()


class MuseVectorEnv(gymnasium.vector.VectorEnv):
    """n games at once, environment i plays game i; an ended one is reset in the same step.

    Observations are tuples of strings. infos has, as in Gymnasium, arrays and masks:
    "success" with "_success", "final_obs" with "_final_obs", "episode_steps".
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, num_envs, split=None, types=None, games=None, dialect=None, max_steps=None, url=None):
        options = dict(split=split, types=types, games=games, dialect=dialect, max_steps=max_steps)
        self._session = _Session(num_envs, url, True, {k: v for k, v in options.items() if v})
        self.num_envs = num_envs
        self.games = self._session.games
        self.single_observation_space, self.single_action_space = _spaces(self._session.spec)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.render_mode = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        request = {"op": "reset"}
        if seed is not None:
            request["seed"] = seed
        if options:
            request["reset_options"] = options
        return tuple(self._session.ask(request)["obs"]), {}

    def step(self, actions):
        answer = self._session.ask({"op": "step", "actions": list(actions)})
        infos, n = {}, self.num_envs
        told = answer.get("infos")
        if told:
            ended = np.zeros(n, dtype=bool)
            success, steps, final = np.zeros(n, dtype=bool), np.zeros(n, dtype=int), np.full(n, None, dtype=object)
            for key, info in told.items():
                if "success" in info:
                    i = int(key)
                    ended[i], success[i], steps[i], final[i] = True, info["success"], info["steps"], info["final_obs"]
            infos = {"success": success, "_success": ended, "episode_steps": steps, "final_obs": final, "_final_obs": ended}
        return (tuple(answer["obs"]), np.array(answer["reward"], dtype=np.float64), np.array(answer["terminated"], dtype=bool),
                np.array(answer["truncated"], dtype=bool), infos)

    def close_extras(self, **kwargs):
        self._session.close()


def register():
    """Makes gymnasium.make("muse/ALFWorld-v1") work."""
    gymnasium.register(id="muse/ALFWorld-v1", entry_point="muse_env:MuseEnv", vector_entry_point="muse_env:MuseVectorEnv")
