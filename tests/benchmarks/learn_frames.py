"""How far do algorithms come with frames? MinAtar's Breakout and ALE's Pong, for as many steps as there is time for.

    make learn_frames ARGS="breakout --steps 3000000"
    make learn_frames ARGS="pong --steps 1000000 --seed 1"
    make learn_frames ARGS="pong-dqn --steps 2000000 --out runs/pong-dqn"

Results go to docs/learning: `GAME.csv`, with another seed than 0 `GAME-SEED.csv`, has the mean return of the last 20
episodes over steps and seconds, `GAME.png` the curve, `journals/GAME.csv` what else the run's journal said.
`frames.csv` has a row for each run, with the digest and the hash of the weights that it has whenever it is made again,
and the commit that makes it.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
from pathlib import Path
from typing import Any

import kept_journals
import torch
from made_by import commit, instructions

from reactors import rl
from reactors.rl.runs.run_folder import fingerprint

MODE = "pipelined"
DOCS = Path(__file__).parents[2] / "docs" / "learning"


# Whole games and their own scores in training, too, for the journal's returns are the curve.
pong = rl.atari("Pong", screen_size=42, episodic_life=False, clip_rewards=False)

GAMES: dict[str, tuple[Any, Any]] = {
    "breakout": (rl.minatar("breakout"), rl.APPO.preset("minatar:breakout")),
    "pong": (pong, rl.PPO.preset("atari:Pong")),
    "pong-dqn": (pong, rl.DQN.preset("atari:Pong")),
}


def main() -> None:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("game", choices=GAMES)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="the run's folder; where it exists, the run goes on")
    given = parser.parse_args()
    torch.set_num_threads(1)
    made_by = commit()  # before a long run, in which something else may be checked out
    make, algorithm = GAMES[given.game]
    going_on = given.out if given.out is not None and given.out.exists() else None
    done = rl.train(
        algorithm, make, total_steps=given.steps, workers=given.workers, mode=MODE, seed=given.seed,
        out=given.out, checkpoint_every=None if given.out is None else 2_000, resume=going_on,
    )  # fmt: skip
    rows = [row for row in done.journal if "charts/episodic_return" in row]
    if not rows:
        parser.error(f"no episode ended in {done.steps:,} steps; ask for more --steps")
    rows = rows[:: max(1, len(rows) // 500)]
    curve = [(int(row["global_step"]), row["seconds"], round(row["charts/episodic_return"], 2)) for row in rows]
    DOCS.mkdir(parents=True, exist_ok=True)
    name = given.game if given.seed == 0 else f"{given.game}-{given.seed}"
    with (DOCS / f"{name}.csv").open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([("step", "seconds", "return"), *curve])
    draw(name, algorithm.name, curve)
    kept_journals.keep(name, done.journal)
    keep({
        "game": given.game, "algorithm": algorithm.name, "mode": MODE, "seed": given.seed, "steps": given.steps,
        "trained_steps": done.steps, "seconds": round(done.journal[-1]["seconds"]), "return": curve[-1][2],
        "digest": done.digest, "weights": fingerprint(done.weights), "commit": made_by,
        "instructions": instructions(),
    })  # fmt: skip
    print(f"{done.steps:,} steps in {done.journal[-1]['seconds']:.0f} s; {curve[-1][2]} at the end")


def keep(found: dict[str, Any]) -> None:
    """Write a run down, in place of an earlier one of the same game, seed and steps."""
    path, key = DOCS / "frames.csv", lambda row: (row["game"], int(row["seed"]), int(row["steps"]))
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows: list[dict[str, Any]] = []
        if path.exists():
            with path.open(newline="") as kept:
                rows = [row for row in csv.DictReader(kept) if key(row) != key(found)]
        with path.open("w", newline="") as out:
            writer = csv.DictWriter(out, [*found], lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted([*rows, found], key=key))


def draw(game: str, algorithm: str, curve: list[tuple[int, float, float]]) -> None:
    """The mean return of the last 20 episodes over steps."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(5, 3))
    panel.plot([step for step, *_ in curve], [value for *_, value in curve], lw=1)
    panel.set(
        title=f"{algorithm}, {game}, pipelined", xlabel="environment steps", ylabel="return of the last 20 episodes"
    )
    figure.tight_layout()
    figure.savefig(DOCS / f"{game}.png", dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    main()
