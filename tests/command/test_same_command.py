"""`reactors same` with one run: does its training do the same with the code that is there now?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from reactors import rl
from reactors.command.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def said(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    return result.exit_code, result.output


@pytest.mark.usefixtures("fonts")
def test_a_run_is_trained_once_more_and_held_against_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `git bisect run` asks for, with the code of each commit."""
    rl.train(
        rl.A2C(num_envs=2, hidden=(8,)), "CartPole-v1", total_steps=128, seed=3, out=tmp_path / "one",
        journal_values=True, mode="pipelined", until=64,
    )  # fmt: skip
    assert said("same", str(tmp_path / "one")) == (0, said("same", *[str(tmp_path / "one")] * 2)[1])

    def weaker(self: CartPoleEnv, **options: Any) -> None:
        made(self, **options)
        self.force_mag = 9.0

    made = CartPoleEnv.__init__
    monkeypatch.setattr(CartPoleEnv, "__init__", weaker)
    status, text = said("same", str(tmp_path / "one"))
    assert status == 1
    assert "they part at 0 s, in main.actors[0].play" in text
    monkeypatch.setattr(CartPoleEnv, "__init__", None)  # a commit that does not run says nothing about it
    assert said("same", str(tmp_path / "one"))[0] == 125


@pytest.mark.usefixtures("fonts")
def test_trainings_without_a_journal_of_values_are_compared_by_their_digests(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("one", "other", "another")]
    results = [
        rl.train(rl.A2C(num_envs=2, hidden=(8,)), "CartPole-v1", total_steps=64, seed=seed, out=out)
        for out, seed in zip(names, (3, 3, 4), strict=True)
    ]
    assert said("same", *names[:2])[0] == said("same", names[0])[0] == 0
    status, text = said("same", *names[1:])
    assert (status, results[2].digest in text) == (1, True)
    (tmp_path / "one" / "result.json").unlink()
    status, text = said("same", *names[:2])
    assert (status, "have nothing to be compared by" in text) == (2, True)


@pytest.mark.usefixtures("fonts")
def test_a_training_that_is_watched_is_the_same_by_its_digest(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("unseen", "watched", "another")]
    for out, seed, every in zip(names, (3, 3, 4), (None, 1, 1), strict=True):
        rl.train(
            rl.A2C(num_envs=2, hidden=(8,)), "CartPole-v1", total_steps=64, seed=seed, out=out, view_every=every,
            journal_values=True,
        )  # fmt: skip
    status, text = said("same", *names[:2])
    assert (status, "the same: digest" in text) == (0, True)
    status, text = said("same", names[0], names[2])
    assert (status, "are of different graphs: only" in text) == (2, True)


@pytest.mark.usefixtures("fonts")
def test_trainings_that_were_resumed_are_the_same_only_if_all_their_parts_are(tmp_path: Path) -> None:
    """Each part has a journal of its own, and the learning rate of the second one falls over other steps."""
    whole, parts, longer = (str(tmp_path / name) for name in ("whole", "parts", "longer"))
    annealed = rl.A2C(num_envs=2, hidden=(8,), anneal=True)

    def train(out: str, **options: Any) -> str:
        given = {"total_steps": 120, "out": out, "journal_values": True, **options}
        return rl.train(annealed, "CartPole-v1", **given).digest

    train(whole)
    for out, steps in ((parts, 120), (longer, 240)):
        train(out, until=60)
        train(out, resume=out, total_steps=steps, until=120)
    for command in ("same", "diff"):
        assert [said(command, parts, other)[0] for other in (whole, longer)] == [0, 1]
    _, text = said("compare", parts, whole, longer, "-o", str(tmp_path / "curve.png"))
    assert "parts and whole: the same: digest" in text
    assert "parts and longer part after" in text
    assert said("same", longer)[0] == 0  # trained once more, part by part


def test_a_journal_alone_cannot_be_trained_once_more(tmp_path: Path) -> None:
    (tmp_path / "a.rxj").touch()
    status, text = said("same", str(tmp_path / "a.rxj"))
    assert status == 2
    assert "is no folder of a training; say which other journal it is to be held against" in text
