"""How well is more learned than CartPole, and how soon, beside others? MuJoCo, MinAtar, Atari, MPE, one run a process.

Every contender has the same hyperparameters, networks, environments and seeds, and a core: one worker, one thread.
Results go to docs/learning: `beside.csv` has a row a run, `beside.md` the tables, `beside.json` the curves, `journals`
what the journals of ours said. Runs that are there already are not made again, but with --again. They are made in the
order of seeds. To stop after two hours, `timeout 2h make learn_beside`: the next time, in the same commit, a run of
ours goes on; others begin again.

    make learn_beside ARGS="--suites mujoco minatar --only SAC --envs Hopper-v5 --seeds 3 --jobs 2"
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import importlib
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from beside.task import EPISODES, GAMES, SPREAD, Learned, Task
from made_by import commit, instructions

DOCS = Path(__file__).parents[2] / "docs" / "learning"
KEPT = DOCS / "beside.json"
MUJOCO = ("Hopper-v5", "HalfCheetah-v5", "Walker2d-v5")
SUITES: dict[str, list[tuple[str, str, int, tuple[str, ...]]]] = {
    "mujoco": [
        (algorithm, env, 500_000 if algorithm == "PPO" else 200_000, ("ours", "stable_baselines"))
        for algorithm in ("PPO", "SAC", "TD3")
        for env in MUJOCO
    ],
    "minatar": [
        (algorithm, f"minatar:{game}", 2_000_000, ("ours", "stable_baselines") if algorithm == "PPO" else ("ours",))
        for algorithm in ("PPO", "APPO", "DQN")
        for game in GAMES
    ],
    "atari": [
        ("PPO", f"atari:{game}", 1_000_000, ("ours", "script")) for game in ("Breakout", "MsPacman", "SpaceInvaders")
    ],
    "mpe2": [(algorithm, SPREAD, 200_000, ("ours", "benchmarl")) for algorithm in ("MAPPO", "IPPO")],
    "mpe2-long": [(algorithm, SPREAD, 1_000_000, ("ours", "benchmarl")) for algorithm in ("MAPPO", "IPPO")],
}
"""Of each: algorithm, environment, steps, contenders."""
TITLES = {
    "mujoco": "MuJoCo",
    "minatar": "MinAtar",
    "atari": "Atari, four frames of 42x42",
    "mpe2": "MPE",
    "mpe2-long": "MPE, longer",
}
NAMES = {"ours": "ours", "stable_baselines": "Stable-Baselines3", "script": "script", "benchmarl": "BenchMARL"}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """In the order of the tables."""
    runs = [run[:3] for suite in SUITES.values() for run in suite]
    return runs.index((row["algorithm"], row["env"], row["asked"])), row["contender"] != "ours", row["seed"]


def rows() -> dict[tuple[Any, ...], dict[str, Any]]:
    """All that are there."""
    return {key(row): row for row in (json.loads(KEPT.read_text()) if KEPT.exists() else [])}


def keep(row: dict[str, Any]) -> None:
    """Write one down at once; other calls may be about the same."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        every = rows() | {key(row): row}
        ordered = [every[each] for each in sorted(every)]
        KEPT.write_text("[\n" + ",\n".join(json.dumps(each) for each in ordered) + "\n]\n")
        write(ordered)


def write(ordered: list[dict[str, Any]]) -> None:
    """Table of runs, and tables of medians."""
    with (DOCS / "beside.csv").open("w", newline="") as out:
        writer = csv.DictWriter(
            out, [name for name in max(ordered, key=len) if name != "curve"], extrasaction="ignore", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(ordered)
    groups: dict[tuple[str, str, int], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in ordered:
        groups[row["algorithm"], row["env"], row["asked"]][row["contender"]].append(row)
    lines = []
    for suite, runs in SUITES.items():
        there = [(run, groups[run[:3]]) for run in runs if run[:3] in groups]
        if there:
            found = (line(run, by) for run, by in there)
            lines += ["", f"## {TITLES[suite]}", "", *TABLE, *found, *NOTES.get(suite, [])]
            if any(row["curve"] for _, by in there for runs_of in by.values() for row in runs_of):
                pictures(suite, there)
                lines += ["", f"![returns of {TITLES[suite]} over steps, ours and those beside](beside-{suite}.png)"]
    (DOCS / "beside.md").write_text("\n".join([*HEAD, *lines]) + "\n")


def pictures(suite: str, there: list[tuple[Any, dict[str, list[dict[str, Any]]]]]) -> None:
    """Returns in training over steps, a line for each seed: ours solid, what is beside it dashed."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(5, len(there))
    rows = -(-len(there) // columns)
    figure, panels = plt.subplots(rows, columns, squeeze=False, figsize=(3.2 * columns, 2.6 * rows))
    for panel, ((algorithm, env, *_), by) in zip(panels.flat, there, strict=False):
        for contender, runs in sorted(by.items(), key=lambda each: each[0] != "ours"):
            for i, run in enumerate(runs):
                style = {"color": "C0", "ls": "-"} if contender == "ours" else {"color": "C1", "ls": "--"}
                name = NAMES[contender] if i == 0 else None
                panel.plot(*zip(*run["curve"], strict=True), lw=1, label=name, **style)
        panel.set_title(f"{algorithm}, {env.rpartition(':')[2]}", fontsize=9)
        panel.tick_params(labelsize=7)
        panel.legend(fontsize=6)
    for panel in panels.flat[len(there) :]:
        panel.axis("off")
    figure.tight_layout()
    figure.savefig(DOCS / f"beside-{suite}.png", dpi=80)
    plt.close(figure)


HEAD = [
    "# MuJoCo, MinAtar, Atari and MPE, beside others",
    "",
    "What our algorithms learn there, beside Stable-Baselines3, BenchMARL and a script as CleanRL writes",
    "them, with the same hyperparameters.",
    "",
    f"Each return is the mean of the last {EPISODES} training episodes; in brackets that of {EPISODES}",
    "episodes afterwards (greedy in MuJoCo; drawn as in training elsewhere; of Atari whole games and",
    "their own scores; of MPE, whose returns are means over agents, 200 greedy ones). There is one for",
    "each seed, after their mean and standard deviation. Contenders have the same hyperparameters,",
    "networks and numbers of environments, but where a note below says otherwise, and one core each: one",
    "worker, one thread. `make learn_beside` makes the runs; `beside.csv` has the seeds, and the digests",
    "and commits by which ours can be made again. In another version figures of the journal, which a",
    "digest is of, may differ, and last bits also on another kind of processor; rows with `instructions`",
    "say which kind theirs was. Newer rows have a hash of the weights, too. The newest runs have left",
    "their journals in `journals`: entropy, losses, gradients, dead units. The last column is the median",
    "over pairs of the same seed. Seconds are processor time, where both runs of a pair have noted it (of",
    "PPO in MuJoCo one pair has); clock time says little, because other work ran beside them.",
]
NOTES = {
    "mujoco": [
        "",
        "By the clock, with nothing else on two cores, steps of Hopper take SAC 0.57 of Stable-Baselines3's",
        "time, its actor and critics apart, and TD3 0.76, with two learners",
        "([how that was measured](../decisions/learning.md)). Apart is another algorithm than in this table",
        "(the actor learns from critics that are some updates old), and its returns are not measured here.",
        "On one core each, by the table above, PPO takes half of Stable-Baselines3's time, and SAC and TD3",
        "0.77 to 0.89 of it, more than two thirds: most of that is arithmetic in torch, which both share.",
        "The 0.65 of SAC in Walker2d is of pairs run at different times: other work beside a run costs it",
        "processor time, too (Stable-Baselines3's three took 2592, 5508 and 5906 s). Returns are equal within",
        "the spreads of two or three seeds, which say little: those of TD3 in Walker2d are 825 and 1346.",
    ],
    "minatar": [
        "",
        "The paper of MinAtar (Young and Tian, 2019, arXiv 1903.03176) and its repository show curves of DQN",
        "and of an actor-critic over 5 million frames, means of 30 runs, and no numbers for this table.",
        "PPO clips values here: Stable-Baselines3 takes the error of the clipped value, and we the larger",
        "error of both, as OpenAI Baselines and the preset's source do. In Seaquest a run either finds out",
        "how to stay under water, or does not, and gets 5 to 8: whether it does is chance, so PPO has six",
        "seeds there. Our three that do get 15 to 19, and Stable-Baselines3's two 31 and 34. APPO gets less",
        "than PPO in all but Seaquest ([with frames](../algorithms/appo.md#does-it-learn)). DQN has one seed,",
        "and did not find it out. Evaluations are half of its last returns in training in Asterix and",
        "Breakout, and above them in Space Invaders, but not because of how they are made: in a shorter run",
        "of Breakout, with a quarter of the updates and evaluated seven times with 60 episodes, it got 3.91",
        "there and 3.89 in training. Chance remains, or weights that swing.",
    ],
    "atari": [
        "",
        "In training rewards are clipped and an episode is a life, so its returns are small; those in",
        "brackets are scores. The script is PPO in one loop, as CleanRL writes it",
        "(`tests/benchmarks/beside/script.py`).",
    ],
    "mpe2": [
        "",
        "Networks, rates, batches and clipping are the same; BenchMARL normalises neither advantages nor",
        "values, and its networks do not see which agent they act for. Each of its 16 environments has a seed",
        "of its own. Its own task for PettingZoo gives all the same one, so that all begin the same episodes;",
        "with that its greedy returns were -27.3, -26.7, -29.5 (MAPPO) and -43.8, -21.0, -22.6 (IPPO).",
    ],
    "mpe2-long": ["", "The same contenders, five times as long, two at once with next to nothing beside them."],
}
"""What stands below the table of a suite."""
TABLE = [
    "| environment | algorithm | steps | ours | beside | its returns | our seconds / its |",
    "| --- | --- | --- | --- | --- | --- | --- |",
]


def line(run: tuple[str, str, int, tuple[str, ...]], by: dict[str, list[dict[str, Any]]]) -> str:
    """Of one algorithm in one environment."""
    algorithm, env, steps, (_, *others) = run
    other, game = others[0] if others else "", env.rpartition(":")[2]
    pairs = [(mine, its) for mine in by.get("ours", []) for its in by.get(other, []) if mine["seed"] == its["seed"]]
    ratios = [mine["processor"] / its["processor"] for mine, its in pairs if "processor" in mine and "processor" in its]
    ratio = f"{statistics.median(ratios):.2f}" if ratios else ""
    return (
        f"| {game} | {algorithm} | {steps:,} | {returns(by.get('ours', []))} | {NAMES.get(other, '')} "
        f"| {returns(by.get(other, []))} | {ratio} |"
    )


def returns(found: list[dict[str, Any]]) -> str:
    """Of every seed: in training, and afterwards; first what they come to."""
    each = ", ".join(f"{row['last']:.4g} ({row['mean']:.4g})" for row in found)
    if len(found) < 2:
        return each
    last = [row["last"] for row in found]
    mean, deviation = statistics.mean(last), statistics.stdev(last)
    places = 0 if abs(mean) >= 100 else 1
    return f"{mean:.{places}f} ± {deviation:.{places}f}: {each}"


def one(contender: str, task: Task) -> None:
    """In this process."""
    made_by = commit()  # before a long run, in which something else may be checked out
    learned: Learned = importlib.import_module(f"beside.{contender}").run(task)
    told = asdict(task)
    row = {
        "contender": contender, "algorithm": told["algorithm"], "env": told["env"], "asked": told["steps"],
        "seed": told["seed"], **asdict(learned), "seconds": round(learned.seconds, 1),
        "processor": round(learned.processor, 1), "commit": made_by, "instructions": instructions(),
    }  # fmt: skip
    keep(row)
    print(*(f"{name}={value}" for name, value in row.items() if name != "curve"), flush=True)


def main() -> None:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    runs = [run for suite in SUITES.values() for run in suite]
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=[*SUITES])
    parser.add_argument("--only", nargs="+", choices=sorted({run[0] for run in runs}), help="algorithms")
    parser.add_argument("--envs", nargs="+", choices=sorted({run[1] for run in runs}))
    parser.add_argument("--contenders", nargs="+", choices=NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("CONTENDER", "TASK"))
    given = parser.parse_args()
    if given.one:
        one(given.one[0], Task(**json.loads(given.one[1])))
        return
    done = (
        set()
        if given.again
        else {(row["contender"], row["algorithm"], row["env"], row["asked"], row["seed"]) for row in rows().values()}
    )
    waiting = [
        (contender, Task(algorithm, env, steps, seed))
        for seed in range(given.first_seed, given.first_seed + given.seeds)
        for suite in given.suites
        for algorithm, env, steps, contenders in SUITES[suite]
        for contender in contenders
        if (not given.only or algorithm in given.only) and (not given.envs or env in given.envs)
        if not given.contenders or contender in given.contenders
        if (contender, algorithm, env, steps, seed) not in done
    ]
    running: set[subprocess.Popen[bytes]] = set()
    failed = 0
    while waiting or running:
        while waiting and len(running) < given.jobs:
            contender, task = waiting.pop(0)
            running.add(subprocess.Popen([sys.executable, __file__, "--one", contender, json.dumps(asdict(task))]))
        pid, status = os.wait()
        running -= {each for each in running if each.pid == pid}
        failed += status != 0
    if failed:
        raise SystemExit(f"{failed} runs failed")


if __name__ == "__main__":
    main()
