"""Draws what examples/README.md shows: the graph of each example, what those learned that learn, and a live view.

python docs/pictures/examples.py [NAME ...]      all, or those of these examples
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.figure import Figure
from PIL import Image

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import reactors as rx  # noqa: E402
from reactors import rl  # noqa: E402
from tests.viewing.browser import Browser  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PICTURES = HERE / "examples"
rcParams["svg.hashsalt"] = "reactors"  # the same file again
CARTPOLE = "CartPole-v1"


def graph(name: str, main: rx.Reactor, workers: int = 2, **look: Any) -> None:
    """The graph of an example, coloured by worker."""
    rx.Graph(main).draw(PICTURES / f"{name}.svg", workers=workers, **look)


def curve(name: str, xs: Sequence[float], ys: Sequence[float], xlabel: str) -> None:
    """What an example learned."""
    figure = Figure(figsize=(5, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(xs, ys, linewidth=1)
    axes.set(xlabel=xlabel, ylabel="mean return")
    axes.grid(alpha=0.3)
    figure.savefig(PICTURES / f"{name}-curve.svg", metadata={"Date": None})


def hello() -> None:
    """One timer, one connection."""
    from hello import Hello

    graph("hello", Hello(), workers=1)


def pingpong() -> None:
    """A circle with a delay."""
    from pingpong import PingPong

    graph("pingpong", PingPong())


def native() -> None:
    """The same graph, whatever bodies are written in."""
    from native import Counting

    graph("native", Counting(), workers=1)


def qlearning() -> None:
    """A bank, a broadcast, a gather."""
    from qlearning import QLearning

    program = QLearning()
    graph("qlearning", program)
    rx.run(program, fast=True)
    curve("qlearning", range(len(program.learner.curve)), program.learner.curve, "round")


def dqn_blackjack() -> None:
    """The same with a replay."""
    from dqn_blackjack import Blackjack

    graph("dqn_blackjack", Blackjack())


def pipeline() -> None:
    """Actors, replay, learner and evaluator that overlap."""
    from pipeline import Train

    program = Train(updates=500)
    graph("pipeline", program)
    rx.run(program, fast=True)
    curve("pipeline", *zip(*program.evaluator.curve, strict=True), "update")


def replay_alone() -> None:
    """What a plain loop learns from the buffer."""
    from replay_alone import train

    _, returns = train(12_000)
    means = [sum(returns[max(0, i - 9) : i + 1]) / min(i + 1, 10) for i in range(len(returns))]
    curve("replay_alone", range(1, len(means) + 1), means, "episode")


def replay_dataflow() -> None:
    """A DQN wired by hand."""
    from replay_dataflow import DQN

    graph("replay_dataflow", DQN())


def own_training() -> None:
    """The pieces of `rl.train`, and one more."""
    from own_training import Training

    graph("own_training", Training(rl.DQN(), "MountainCar-v0"))


def tour() -> None:
    """The graph that the notebook has stored."""
    cells = json.loads((ROOT / "examples" / "tour.ipynb").read_text())["cells"]
    shown = (output.get("data", {}) for cell in cells for output in cell.get("outputs", ()))
    (PICTURES / "tour.svg").write_text(
        "".join(next(data["image/svg+xml"] for data in shown if "image/svg+xml" in data))
    )


def left_of_training(name: str, server: rl.Server | None = None) -> None:
    """The graph that `rl.train` leaves in a run's folder."""
    with tempfile.TemporaryDirectory() as folder:
        rl.train(
            rl.PPO(num_envs=4, horizon=16, epochs=2), CARTPOLE, total_steps=64, mode="pipelined", workers=2,
            serve=server, out=folder,
        )  # fmt: skip
        (PICTURES / f"{name}.svg").write_bytes(Path(folder, "graph.svg").read_bytes())


def train_cartpole() -> None:
    """Training from one call; what it learns is in docs/learning."""
    left_of_training("train_cartpole")


def train_and_serve() -> None:
    """A server in the graph that trains."""
    left_of_training("train_and_serve", rl.serve(rl.PPO(num_envs=4, horizon=16, epochs=2), env=CARTPOLE))


def multi_agent() -> None:
    """A world and a bank of agents."""
    from multi_agent import MultiAgent

    graph("multi_agent", MultiAgent())


def communication() -> None:
    """Junctions, in which messages go from each car to the others, and a learner."""
    from communication import Communication

    graph("communication", Communication())


def pettingzoo_parallel() -> None:
    """An environment of many agents, and a learner for each."""
    from pettingzoo_parallel import Match

    graph("pettingzoo_parallel", Match())


def from_ray() -> None:
    """A driver and its players."""
    from from_ray import Strategies

    program = Strategies()
    graph("from_ray", program)
    rx.run(program, fast=True)
    curve("from_ray", range(len(program.driver.curve)), program.driver.curve, "round")


def from_cleanrl() -> None:
    """A loop, cut in two."""
    from before.cleanrl_ppo import Args
    from from_cleanrl import Training

    graph("from_cleanrl", Training(Args()))


def live() -> None:
    """A training while it goes on, in a browser."""
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder) / "browser") as browser, ExitStack() as stack:
        run = Path(folder) / "run"
        train = ["train", "ppo", "--env", CARTPOLE, "--workers", "2", "--mode", "pipelined", "--total-steps", "400000"]
        started(stack, *train, "--out", str(run))
        journal = run / "journal.csv"
        while not journal.exists() or len(journal.read_text().splitlines()) < 60:
            time.sleep(0.2)
        browser.open(started(stack, "view", str(run)).readline().strip())
        browser.until("document.querySelector('canvas, svg') !== null")
        time.sleep(3)  # some seconds of its own, to show
        browser.screenshot(Path(folder) / "live.png")
        with Image.open(Path(folder) / "live.png") as page:
            top = page.convert("RGB").crop((0, 0, page.width, 1320))  # what comes below are all the curves
        top.quantize(96).save(HERE / "live.png")


def started(stack: ExitStack, *arguments: str) -> IO[str]:
    """What a command of ours prints, while it goes on; it is ended with the stack."""
    command = [sys.executable, "-m", "reactors", *arguments]
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    stack.callback(process.terminate)
    assert process.stdout is not None
    return process.stdout


DRAWN: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        hello, pingpong, native, qlearning, dqn_blackjack, pipeline, replay_alone, replay_dataflow, own_training, tour,
        train_cartpole, train_and_serve, multi_agent, communication, pettingzoo_parallel, from_ray, from_cleanrl, live,
    )
}  # fmt: skip


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or DRAWN:
        DRAWN[name]()
