"""V-trace and generalised advantages are what the papers' sums say, evaluated term by term."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from reactors.rl.algorithms.fragments import FragmentReplay, MinibatchRing
from reactors.rl.estimates.returns import Course, advantages
from reactors.rl.estimates.vtrace import vtrace

STEPS, ENVS, GAMMA = 7, 5, 0.9


def experience(seed: int) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor, Course]:
    """A batch, the values of its steps and of what follows, and its course."""
    rng = np.random.default_rng(seed)
    shape = STEPS, ENVS
    terminated = rng.random(shape) < 0.2
    batch = {
        "obs": rng.normal(size=(*shape, 1)), "next_obs": rng.normal(size=(*shape, 1)), "terminated": terminated,
        "reward": rng.normal(size=shape), "truncated": (rng.random(shape) < 0.2) & ~terminated,
        "log_ratio": rng.normal(size=shape) / 2,
    }  # fmt: skip
    tensors = {name: torch.from_numpy(each) for name, each in batch.items()}
    course = Course.of(tensors)
    course = course._replace(alive=course.alive.double(), going=course.going.double())
    values, following = course.split(course.obs[:, 0] * 3)  # the value function is 3 x
    return tensors, values, following, course


def test_a_course_has_the_values_of_what_really_followed() -> None:
    batch, values, following, course = experience(0)
    torch.testing.assert_close(values, 3 * batch["obs"][..., 0])
    for t in range(STEPS):
        for i in range(ENVS):
            goes_on = t < STEPS - 1 and not batch["truncated"][t, i]
            wanted = batch["obs"][t + 1, i, 0] if goes_on else batch["next_obs"][t, i, 0]
            assert float(following[t, i]) == pytest.approx(3 * float(wanted))
    assert course.going.sum() < course.alive.sum()


@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_advantages_are_the_sum_of_equation_16(lam: float, seed: int) -> None:
    batch, values, following, course = experience(seed)
    found = advantages(batch["reward"], values, following, course, GAMMA, lam)
    reward, ends = batch["reward"], batch["terminated"] | batch["truncated"]
    for i in range(ENVS):
        for s in range(STEPS):
            total = 0.0
            for t in range(s, STEPS):
                after = 0.0 if batch["terminated"][t, i] else float(following[t, i])
                total += (GAMMA * lam) ** (t - s) * (float(reward[t, i]) + GAMMA * after - float(values[t, i]))
                if ends[t, i]:
                    break
            assert float(found[s, i]) == pytest.approx(total)


@pytest.mark.parametrize(("rho", "c", "rho_gradient", "lam"), [(1, 1, 1, 1), (1.5, 0.8, 2, 0.9), (9, 9, 9, 1)])
@pytest.mark.parametrize("seed", [3, 4])
def test_targets_are_the_sum_of_equation_1(seed: int, rho: float, c: float, rho_gradient: float, lam: float) -> None:
    batch, values, following, course = experience(seed)
    reward, ratio = batch["reward"], batch["log_ratio"].exp()
    trace = vtrace(
        batch["log_ratio"], reward, values, following, course, GAMMA, rho=rho, c=c, rho_gradient=rho_gradient, lam=lam
    )
    ends = batch["terminated"] | batch["truncated"]

    def target(s: int, i: int) -> float:
        total, product = float(values[s, i]), 1.0
        for t in range(s, STEPS):
            after = 0.0 if batch["terminated"][t, i] else float(following[t, i])
            delta = min(rho, float(ratio[t, i])) * (float(reward[t, i]) + GAMMA * after - float(values[t, i]))
            total += GAMMA ** (t - s) * product * delta
            product *= lam * min(c, float(ratio[t, i]))
            if ends[t, i]:
                break
        return total

    for i in range(ENVS):
        for s in range(STEPS):
            assert float(trace.targets[s, i]) == pytest.approx(target(s, i))
            after = float(following[s, i]) if s == STEPS - 1 or ends[s, i] else target(s + 1, i)
            after = 0.0 if batch["terminated"][s, i] else after
            advantage = float(reward[s, i]) + GAMMA * after - float(values[s, i])
            assert float(trace.advantages[s, i]) == pytest.approx(min(rho_gradient, float(ratio[s, i])) * advantage)


def test_on_policy_targets_are_returns_with_a_lambda_of_one() -> None:
    batch, values, following, course = experience(5)
    trace = vtrace(torch.zeros(STEPS, ENVS).double(), batch["reward"], values, following, course, GAMMA)
    wanted = advantages(batch["reward"], values, following, course, GAMMA, 1.0)
    torch.testing.assert_close(trace.targets - values, wanted)


def fragments(numbers: list[int]) -> dict[str, torch.Tensor]:
    return {"reward": torch.tensor([numbers, numbers]).float()}


def test_fragments_are_replayed_in_proportion_from_the_last_slots() -> None:
    replay = FragmentReplay(4, 0.75, np.random.default_rng(0))
    drawn: list[set[float]] = []
    sizes = []
    for i in range(20):
        mixed = replay.mix(fragments([2 * i, 2 * i + 1]))["reward"][0].tolist()
        assert mixed[:2] == [2 * i, 2 * i + 1]
        assert all(2 * i - 4 <= each < 2 * i for each in mixed[2:])
        drawn.append(set(mixed[2:]))
        sizes.append(len(mixed) - 2)
    assert sum(sizes) == math.floor(19 * 2 * 0.75)
    assert any(min(each, default=math.inf) == 2 * i - 4 for i, each in enumerate(drawn))


def test_more_fragments_than_slots_leave_the_newest() -> None:
    replay = FragmentReplay(2, 1.0, np.random.default_rng(0))
    replay.mix(fragments([1, 2, 3, 4, 5]))
    assert set(replay.mix(fragments([6, 7, 8, 9, 10, 11]))["reward"][0, 6:].tolist()) == {4.0, 5.0}


@pytest.mark.parametrize(("slots", "uses"), [(1, 1), (1, 3), (4, 2), (3, 5)])
def test_the_ring_gives_every_batch_so_many_times(slots: int, uses: int) -> None:
    ring = MinibatchRing(slots, uses)
    given = [int(batch["reward"][0, 0]) for i in range(8 * slots) for batch in ring.turn(fragments([i]))]
    counts = np.bincount(given)
    assert (counts[: 7 * slots] == uses).all()
    assert (counts <= uses).all()


def test_stored_fragments_come_back_on_the_device_of_the_learner() -> None:
    """As they are read, they are on the CPU; "meta" stands for another device."""
    replay = FragmentReplay(2, 1.0, np.random.default_rng(0))
    replay.mix({"reward": torch.zeros(3, 2)})
    other = FragmentReplay(2, 1.0, np.random.default_rng(0))
    other.load_state_dict(replay.state_dict(), "meta")
    assert {each.device.type for each in other.kept.values()} == {"meta"}
    ring = MinibatchRing(2, 2)
    list(ring.turn({"n": torch.tensor(1)}))
    empty = MinibatchRing(2, 2)
    empty.load_state_dict(ring.state_dict(), "meta")
    assert empty.batches[0]["n"].device.type == "meta"


def test_what_is_left_of_a_share_can_be_saved_whatever_its_rounding() -> None:
    replay = FragmentReplay(2, 0.1, np.random.default_rng(0))
    for _ in range(25):
        replay.mix({"reward": torch.zeros(3, 1)})
        FragmentReplay(2, 0.1, np.random.default_rng(0)).load_state_dict(replay.state_dict())
