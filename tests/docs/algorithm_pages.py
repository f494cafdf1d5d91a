"""What in docs/algorithms and docs/training.md follows from the code and from docs/learning?

Tables of hyperparameters and options, the paragraph on learning, the index, and with --pictures the graphs, of the
programs that `rl.train` runs. `make pages` and `make pictures` write them, and tests/docs/test_docs.py finds
those that are old.
"""

from __future__ import annotations

import ast
import csv
import inspect
import re
import sys
import textwrap
import warnings
from collections import defaultdict
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.rl.contract.agents import MultiAgent
from reactors.rl.dataflow.agents.program import AgentsTraining
from reactors.rl.dataflow.program import Training, placement
from reactors.rl.options import ARGUMENTS, Options, default_words
from reactors.rl.runs.environments import environment_of
from reactors.rl.runs.settings import algorithms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactors.rl.contract.algorithm import Algorithm

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "algorithms"
TRAINING = "../training"
PICTURES = DOCS / "pictures" / "algorithms"
# page: algorithm, environment of its graph, where its experience is from
ALGORITHMS = {
    "q_learning": ("QLearning", "FrozenLake-v1", "off-policy; a round, once"),
    "dqn": ("DQN", "CartPole-v1", "off-policy; replay"),
    "ddpg": ("DDPG", "Pendulum-v1", "off-policy; replay"),
    "td3": ("TD3", "Pendulum-v1", "off-policy; replay"),
    "sac": ("SAC", "Pendulum-v1", "off-policy; replay"),
    "a2c": ("A2C", "CartPole-v1", "on-policy; a round, once"),
    "ppo": ("PPO", "CartPole-v1", "on-policy; a round, some epochs"),
    "impala": ("IMPALA", "CartPole-v1", "off-policy by some rounds, corrected; fragments"),
    "appo": ("APPO", "CartPole-v1", "off-policy by some rounds, corrected; fragments"),
    "ippo": ("IPPO", "mpe2:simple_spread_v3", "on-policy; a round of many agents, some epochs"),
    "mappo": ("MAPPO", "mpe2:simple_tag_v3", "on-policy; a round of many agents, some epochs"),
    "idqn": ("IDQN", "mpe2:simple_spread_v3", "off-policy; replay of each agent's steps"),
    "isac": ("ISAC", "mpe2:simple_spread_v3", "off-policy; replay of each agent's steps"),
    "vdn": ("VDN", "mpe2:simple_spread_v3", "off-policy; replay of a group's steps"),
    "qmix": ("QMIX", "mpe2:simple_tag_v3", "off-policy; replay of a group's steps"),
}
TAG = {"groups": {"adversary": ("adversary_*",), "good": ("agent_*",)}}
GROUPS: dict[str, Any] = {"mappo": TAG, "qmix": TAG}
ENV_KWARGS: dict[str, Any] = {"isac": {"continuous_actions": True}}


def kind_of(page: str) -> type[Algorithm]:
    """The class that a page is about."""
    return algorithms()[ALGORITHMS[page][0].lower()]


@cache
def _said(kind: type[Any]) -> dict[str, str]:
    """The docstrings below the fields that a class itself declares."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    found = {}
    for here, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name):
            text = after.value if isinstance(after, ast.Expr) else None
            found[here.target.id] = " ".join(str(text.value).split()) if isinstance(text, ast.Constant) else ""
    return found


def meaning(kind: type[Any], name: str) -> str:
    """What a field means, as its first class says, and what the nearest says of the default: its own source."""
    said = [each[name] for each in map(_said, filter(_has_fields, kind.__mro__)) if name in each]
    own, nearest, first = said[0], *(next(filter(None, order), "") for order in (said, reversed(said)))
    first = f"{first.split('. ')[0].rstrip('.')}."
    return nearest if not own or own in first or own.startswith(first.rstrip(".")) else f"{first} {own}"


def _has_fields(kind: type[Any]) -> bool:
    return bool(inspect.get_annotations(kind))


def hyperparameters(kind: type[Any]) -> str:
    """All of them as a table, with what is said of each."""
    lines = ["| hyperparameter | default | |", "| --- | --- | --- |"]
    for field in (each for each in fields(kind) if each.init):
        shown = f"{field.default:_}" if type(field.default) is int else repr(field.default)
        lines.append(f"| `{field.name}` | `{shown}` | {meaning(kind, field.name)} |")
    return "\n".join(lines)


@cache
def runs() -> dict[str, list[dict[str, str]]]:
    """The runs of `make learn`, by algorithm."""
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    with (DOCS / "learning" / "learn.csv").open() as file:
        for row in csv.DictReader(file):
            found[row["algorithm"]].append(row)
    return found


def reached(page: str) -> str:
    """In what environments how many runs reached the goal."""
    by_env: dict[str, list[bool]] = defaultdict(list)
    for row in runs().get(ALGORITHMS[page][0], []):
        by_env[row["environment"]].append(bool(row["reached_step"]))
    return "; ".join(f"{env}: {sum(each)} of {len(each)} runs" for env, each in by_env.items())


def learning(page: str) -> str:
    """The curve, if there is one, and how many runs reached the goal."""
    name = ALGORITHMS[page][0]
    if not runs().get(name):
        return f"There are no curves of {name} in [docs/learning](../learning/learn.md) yet."
    picture = f"![greedy returns of {name} over environment steps](../learning/{name.lower()}.png)"
    rest = "Steps, final weights and what the goal is: [docs/learning](../learning/learn.md)."
    return f"{picture}\n\nReached the goal in {reached(page)}.\n{rest}"


def index() -> str:
    """One line for each page."""
    lines = ["| algorithm | paper | actions | experience | reached the goal in |", "| --- | --- | --- | --- | --- |"]
    for page, (name, _, experience) in ALGORITHMS.items():
        kind = kind_of(page)
        actions = " or ".join(["discrete"] * kind.discrete + ["continuous"] * kind.continuous)
        paper = re.sub(r"\s+", " ", (PAGES / f"{page}.md").read_text().split("\n\n")[1])
        shown = reached(page) or "no runs yet"
        lines.append(f"| [{name}]({page}.md) | {paper} | {actions} | {experience} | {shown} |")
    return "\n".join(lines)


def options() -> str:
    """The options of `rl.train` and of the command as a table."""
    lines = ["| `rl.train` | `reactors train` | default | |", "| --- | --- | --- | --- |"]
    for each in fields(Options):
        flag = ARGUMENTS[each.name] and f"`{ARGUMENTS[each.name]}`"
        lines.append(f"| `{each.name}` | {flag} | {default_words(each)} | {each.metadata['help']} |")
    return "\n".join(lines)


def parts(page: str) -> dict[str, str]:
    """What is generated on a page, by its names."""
    if page == "README":
        return {"index": index()}
    if page == TRAINING:
        return {"options": options()}
    return {"hyperparameters": hyperparameters(kind_of(page)), "learning": learning(page)}


def renewed(page: str) -> str:
    """The text of a page as it should be."""
    text = (PAGES / f"{page}.md").read_text()
    for name, part in parts(page).items():
        begin, end = f"<!-- {name}: `make pages` writes this -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{part}\n\n{end}{rest.partition(end)[2]}"
    return text


def draw(page: str) -> None:
    """The program that trains, on two workers, pipelined, with an evaluator."""
    _, env, _ = ALGORITHMS[page]
    algorithm = kind_of(page)(**GROUPS.get(page, {}))
    make, spaces = environment_of(algorithm, env, ENV_KWARGS.get(page, {}), "the drawing")
    kind: Any = AgentsTraining if isinstance(algorithm, MultiAgent) else Training
    training = kind(algorithm, make, *spaces, Options(actors=2, mode="pipelined", eval_every=10))
    PICTURES.mkdir(parents=True, exist_ok=True)
    where = placement(training, 2, "pipelined")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rx.ReactorWarning)  # without checkpoints nothing asks for states
        rx.Graph(training).draw(PICTURES / f"{page}.svg", workers=2, placement=partial(_worker, where))


def _worker(where: dict[str, int], path: str) -> int:
    return where.get(path, 0)


def pages() -> Iterator[str]:
    """All that have generated parts; the index after those that it reads."""
    yield from ALGORITHMS
    yield "README"
    yield TRAINING


if __name__ == "__main__":
    for each in pages():
        (PAGES / f"{each}.md").write_text(renewed(each))
    if "--pictures" in sys.argv:
        for each in ALGORITHMS:
            draw(each)
