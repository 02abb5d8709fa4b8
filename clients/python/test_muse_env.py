"""The client against gymnasium's own checker. Needs gymnasium; run with MUSE_SERVER=path/to/muse."""

import os
import resource
import sys
import time
import unittest
import warnings

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import muse_env

SOLVED = "pick_and_place_simple-SaltShaker-None-Drawer-10/trial_T20190909_021613_077537"


class Single(unittest.TestCase):
    def test_checker(self):
        muse_env.register()
        env = gymnasium.make("muse/ALFWorld-v1", split="unseen", disable_env_checker=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message=".*render.*")
            check_env(env.unwrapped, skip_render_check=False)
        env.close()

    def test_same_bytes(self):
        env = muse_env.MuseEnv(games=[SOLVED], admissible=True, render_mode="ansi")
        a, info = env.reset(seed=1)
        self.assertIn("Your task is to:", a)
        self.assertIn("look", info["admissible_commands"])
        obs, reward, terminated, truncated, info = env.step("inventory")
        self.assertEqual((obs, reward, terminated, truncated), ("You are not carrying anything.", 0.0, False, False))
        self.assertNotIn("success", info)
        self.assertIn("> inventory", env.render())
        b, _ = env.reset(seed=2)
        self.assertEqual(a, b)
        env.close()
        env.close()

    def test_errors(self):
        with self.assertRaisesRegex(muse_env.MuseError, "unknown split"):
            muse_env.MuseEnv(split="nowhere")
        env = muse_env.MuseEnv(games=[SOLVED])
        with self.assertRaisesRegex(muse_env.MuseError, "Reset is needed"):
            env.step("look")
        env.close()


class Vector(unittest.TestCase):
    def test_batch(self):
        env = muse_env.MuseVectorEnv(4, split="unseen", max_steps=3)
        self.assertEqual(len(set(env.games)), 4)
        first, _ = env.reset(seed=1)
        self.assertIn(first, env.observation_space)
        for k in range(3):
            obs, reward, terminated, truncated, infos = env.step(["look"] * 4)
        self.assertTrue(truncated.all() and not terminated.any())
        self.assertTrue(infos["_success"].all() and not infos["success"].any())
        self.assertEqual(infos["episode_steps"].tolist(), [3] * 4)
        self.assertEqual(obs, first)  # reset in the same step
        self.assertTrue(infos["final_obs"][0].startswith("You are in the middle of a room."))
        env.close()


def speed(n=512, seconds=5.0):
    """Steps a second of n environments, in this process and the server together."""
    env = muse_env.MuseVectorEnv(n, split="train")
    env.reset(seed=1)
    rooms = [[f"go to {r}" for r in ("drawer 1", "cabinet 1", "shelf 1", "sinkbasin 1", "desk 1", "bed 1")][i % 6] for i in range(n)]
    batches = [rooms, ["look"] * n, ["inventory"] * n, rooms[3:] + rooms[:3]]
    steps, start, k, cpu = 0, time.perf_counter(), 0, time.process_time()
    while time.perf_counter() - start < seconds:
        env.step(batches[k % 4])
        steps, k = steps + n, k + 1
    wall = time.perf_counter() - start
    python = time.process_time() - cpu
    env.close()
    server = resource.getrusage(resource.RUSAGE_CHILDREN)  # of the server, its start included
    work = python + server.ru_utime + server.ru_stime
    print(f"{steps / wall:.0f} steps/s over {wall:.1f} s with {n} environments; {steps / work:.0f} steps a second of processor time, client and server together")


if __name__ == "__main__":
    if sys.argv[1:] == ["speed"]:
        speed()
    else:
        unittest.main()
