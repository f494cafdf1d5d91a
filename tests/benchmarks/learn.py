"""Does every algorithm learn? `make learn` trains each for five seeds, in both deterministic modes.

HEAD says what counts as learned; for Catch an algorithm's name is followed by `-frames`. Every run is a process of its
own with one torch thread. Results go to docs/learning: `learn.csv` has a row a run, `learn.md` one for each algorithm
and mode, and pictures have the greedy returns met on the way. By `digest` and `weights`, a hash, a run can be compared
with one that is made again by the same `commit` on a processor with the same `instructions`; a later one may have other
figures in its journal and so another digest, and both may round in another way and so have other weights.

    python tests/benchmarks/learn.py [--only PPO,SAC] [--seeds 5] [--modes sync,pipelined] [--jobs 2]
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from made_by import commit, instructions

from tests.catch import SETTINGS, Catch

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[2] / "docs" / "learning"
SPREAD = "mpe2:simple_spread_v3"
GOALS = {"CartPole-v1": 475.0, "Pendulum-v1": -200.0, "Catch": 0.95, SPREAD: -60.0}
FRAMES = "-frames"
HEAD = [
    "# How soon it is learned",
    "",
    "Every algorithm in a small environment, with its defaults, its preset, or for Catch its settings",
    "there. **The goal** is a mean greedy return: 475 in CartPole-v1, -200 in Pendulum-v1, -60 in MPE's",
    "simple_spread (the sum over its three agents), and 0.95 in Catch, a ball that falls through frames",
    "of 42x42 pixels (tests/catch.py). It is reached when the mean of 20 episodes (60 for TD3), whose",
    'seeds training never sees, is at least that. "Best weights" are those with the highest such mean of',
    'a run, "final weights" its last ones, and each play 100 other episodes; "there" counts the runs',
    "whose mean is at the goal then. No run ends early. `make learn` makes all of them again;",
    "[learn.csv](learn.csv) has seeds, digests, and commits by which runs come out again, bit for bit, on",
    "a processor of the same kind. `instructions` says which kind that is; older rows do not say it. On",
    "another kind the last bits of what is computed may differ, and then all that is learned.",
    "",
]
EPISODES = {"TD3": 60} | {f"{name}{FRAMES}": 100 for name in SETTINGS}
"""Of an evaluation, else 20: TD3's early policies fail from rare starts alone."""
# algorithm: environment, steps, rounds between evaluations; hyperparameters are presets, those for frames, or defaults
RUNS = {
    "DQN": ("CartPole-v1", 60_000, 8),
    "A2C": ("CartPole-v1", 150_000, 128),
    "PPO": ("CartPole-v1", 60_000, 10),
    "IMPALA": ("CartPole-v1", 150_000, 24),
    "APPO": ("CartPole-v1", 120_000, 16),
    "DDPG": ("Pendulum-v1", 6_000, 16),
    "TD3": ("Pendulum-v1", 8_000, 16),
    "SAC": ("Pendulum-v1", 6_000, 16),
    "A2C-frames": ("Catch", 40_000, 20),
    "PPO-frames": ("Catch", 60_000, 8),
    "IMPALA-frames": ("Catch", 60_000, 16),
    "APPO-frames": ("Catch", 60_000, 16),
    "DQN-frames": ("Catch", 24_000, 75),
    "IPPO": (SPREAD, 96_000, 6),
    "MAPPO": (SPREAD, 96_000, 6),
    "IDQN": (SPREAD, 96_000, 48),
    "VDN": (SPREAD, 96_000, 48),
    "QMIX": (SPREAD, 96_000, 48),
    "ISAC": (SPREAD, 48_000, 48),
}
ENV_KWARGS = {"ISAC": {"continuous_actions": True}}


def one(name: str, mode: str, seed: int) -> dict[str, Any]:
    """Train once; what came of it."""
    import torch

    from reactors import rl
    from reactors.rl.contract.presets.tables import preset_of
    from reactors.rl.runs.run_folder import fingerprint

    torch.set_num_threads(1)
    made_by = commit()  # before a long run, in which something else may be checked out
    env, steps, every = RUNS[name]
    began = time.perf_counter()
    algorithm = getattr(rl, name.removesuffix(FRAMES))
    preset = preset_of(algorithm, env)
    settings = SETTINGS[name.removesuffix(FRAMES)] if env == "Catch" else preset.values if preset else {}
    done = rl.train(
        algorithm(**settings), Catch if env == "Catch" else env, total_steps=steps, seed=seed, mode=mode,  # type: ignore[arg-type]
        eval_every=every, eval_episodes=EPISODES.get(name, 20), env_kwargs=ENV_KWARGS.get(name),
    )  # fmt: skip
    assert done.best is not None
    seconds = time.perf_counter() - began
    curve = [
        (row["global_step"], row["seconds"], row["eval/mean_return"])
        for row in done.journal
        if "eval/mean_return" in row
    ]
    reached = next(((step, at) for step, at, value in curve if value >= GOALS[env]), (None, None))
    return {
        "algorithm": name, "environment": env, "mode": mode, "seed": seed, "steps": steps, "seconds": round(seconds, 2),
        "reached_step": reached[0], "reached_seconds": reached[1],
        "best": done.best.evaluate(100, seed=10_000 + seed), "final": done.evaluate(100, seed=10_000 + seed),
        "trained_steps": done.steps, "digest": done.digest, "weights": fingerprint(done.weights),
        "commit": made_by, "instructions": instructions(), "curve": curve,
    }  # fmt: skip


def everything(jobs: list[tuple[str, str, int]], at_once: int) -> Iterator[dict[str, Any]]:
    """All runs, so many at a time."""
    waiting = list(jobs)
    running: list[tuple[tuple[str, str, int], Any]] = []
    while waiting or running:
        while waiting and len(running) < at_once:
            job = waiting.pop(0)
            command = [sys.executable, __file__, "--one", *map(str, job)]
            running.append((job, subprocess.Popen(command, stdout=subprocess.PIPE, text=True)))
        job, process = running.pop(0)
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{job} failed")
        found = json.loads(out.splitlines()[-1])
        print(*(f"{k}={v}" for k, v in found.items() if k not in {"curve", "environment"}), flush=True)
        yield found


def keep(found: dict[str, Any]) -> None:
    """Write it down at once, so that it is not lost; other calls may be about the same."""
    DOCS.mkdir(parents=True, exist_ok=True)
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write([found])


def write(found: list[dict[str, Any]]) -> None:
    """Table, summary and pictures; runs of earlier calls stay unless they were made again."""
    kept = DOCS / "curves.json"
    key = lambda row: (list(RUNS).index(row["algorithm"]), row["mode"] != "sync", row["seed"])  # noqa: E731
    rows = {key(row): row for row in (json.loads(kept.read_text()) if kept.exists() else [])}
    rows |= {key(row): row for row in found}
    ordered = [rows[k] for k in sorted(rows)]
    kept.write_text("[\n" + ",\n".join(json.dumps(row) for row in ordered) + "\n]\n")
    names = [name for name in max(ordered, key=len) if name != "curve"]
    with (DOCS / "learn.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in ordered:
        groups[row["algorithm"], row["mode"]].append(row)
    lines = [
        *HEAD,
        (
            "| algorithm | environment | mode | reached the goal | steps until then, median | best weights there "
            "| their return: least, median | final weights there | their return: least, median |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, mode), group in groups.items():
        env = group[0]["environment"]
        passed = [row for row in group if row["reached_step"] is not None]
        steps = f"{statistics.median(row['reached_step'] for row in passed):,.0f}" if passed else "none"
        line = f"| {name} | {env} | {mode} | {len(passed)} of {len(group)} | {steps} of {group[0]['steps']:,} |"
        for which in ("best", "final"):
            returns = [row[which] for row in group]
            at_goal = sum(value >= GOALS[env] for value in returns)
            digits = 2 if env == "Catch" else 1
            line += f" {at_goal} of {len(group)} | {min(returns):.{digits}f}, {statistics.median(returns):.{digits}f} |"
        lines.append(line)
    (DOCS / "learn.md").write_text("\n".join(lines) + "\n")
    pictures(groups)


def pictures(groups: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Greedy returns over steps, a line for each seed."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name in dict.fromkeys(name for name, _ in groups):
        modes = [mode for other, mode in groups if other == name]
        figure, panels = plt.subplots(1, len(modes), sharey=True, squeeze=False, figsize=(4 * len(modes), 3))
        for panel, mode in zip(panels[0], modes, strict=True):
            for row in groups[name, mode]:
                panel.plot([step for step, *_ in row["curve"]], [value for *_, value in row["curve"]], lw=1)
            panel.axhline(GOALS[RUNS[name][0]], color="grey", ls=":")
            panel.set(title=f"{name}, {RUNS[name][0].rpartition(':')[2]}, {mode}", xlabel="environment steps")
        panels[0][0].set_ylabel("mean greedy return")
        figure.tight_layout()
        figure.savefig(DOCS / f"{name.lower()}.png", dpi=80)
        plt.close(figure)


def main() -> None:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--one", nargs=3, metavar=("ALGORITHM", "MODE", "SEED"), help="one run, as JSON")
    parser.add_argument("--only", default=",".join(RUNS))
    parser.add_argument("--modes", default="sync,pipelined")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], given.one[1], int(given.one[2]))))
        return
    names, modes = given.only.split(","), given.modes.split(",")
    jobs = [(name, mode, seed) for seed in range(given.first_seed, given.seeds) for name in names for mode in modes]
    for found in everything(jobs, given.jobs):
        keep(found)


if __name__ == "__main__":
    main()
