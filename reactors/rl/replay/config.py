"""The configuration of a replay buffer, as given by a caller or by a saved file."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from reactors.errors import ArgumentError
from reactors.rl.replay.storage import FANOUT, BufferLayout, Field, TreeShape, checked_fields, plan


class Config(NamedTuple):
    """Everything that defines a buffer, except its memory."""

    fields: tuple[Field, ...]
    share: int
    num_envs: int
    prioritized: bool
    alpha: float
    beta: float
    eps: float
    stratified: bool
    n_step: int
    gamma: float
    frame_stack: int
    small: int
    weights: str = "batch"
    fanout: int = FANOUT

    @classmethod
    def of(
        cls,
        capacity: int,
        fields: object,
        *,
        prioritized: bool,
        num_envs: int,
        n_step: int,
        gamma: float,
        frame_stack: int | None,
        small: int,
        alpha: float | None = None,
        beta: float | None = None,
        eps: float | None = None,
        stratified: bool | None = None,
        weights: str | None = None,
        fanout: int | None = None,
    ) -> Config:
        """The configuration for these arguments; `ArgumentError` for invalid ones."""
        for name, number in (("capacity", capacity), ("num_envs", num_envs), ("n_step", n_step)):
            whole(number, name)
        whole(small, "small", 0)
        given = {"alpha": alpha, "beta": beta, "eps": eps, "stratified": stratified, "weights": weights,
                 "fanout": fanout}  # fmt: skip
        if not prioritized and (idle := [name for name, value in given.items() if value is not None]):
            raise ArgumentError(
                f"{idle[0]}={given[idle[0]]!r} is given to a replay buffer that samples uniformly, where it would do "
                f"nothing; say prioritized=True, or leave {idle[0]} out"
            )
        alpha, beta, eps = (usual if x is None else x for x, usual in ((alpha, 0.6), (beta, 0.4), (eps, 1e-6)))
        alpha, beta, gamma = rate(alpha, "alpha"), rate(beta, "beta"), rate(gamma, "gamma")
        eps = rate(eps, "eps", most=math.inf)
        if weights not in {None, "batch", "buffer"}:
            raise ArgumentError(
                f'weights is {weights!r}; write "batch" or "buffer", whichever the greatest weight of is to be 1'
            )
        if fanout not in {None, 2, 4, 8, 16, 32, 64}:
            raise ArgumentError(f"fanout is {fanout!r}; write a power of two from 2 to 64")
        kept = checked_fields(fields)
        if frame_stack is not None:
            kept = _stacked(kept, whole(frame_stack, "frame_stack"))
        if n_step > 1:
            kept = _of_several_steps(kept)
        share = -(-capacity // num_envs)
        return cls(
            kept, share, num_envs, bool(prioritized), alpha, beta, eps, stratified is not False, n_step, gamma,
            frame_stack or 1, small, weights or "batch", fanout or FANOUT,
        )  # fmt: skip

    @property
    def slots(self) -> int:
        """The number of rows that all streams can hold together."""
        return self.share * self.num_envs

    @property
    def tree(self) -> TreeShape | None:
        """The shape of the tree of priorities, if there is one."""
        return TreeShape(self.slots, self.fanout, 4, self.weights == "buffer") if self.prioritized else None

    def plan(self) -> BufferLayout:
        """Where each field, record and tree lies in memory."""
        extra = 2 * self.frame_stack * (self.n_step + 1)
        return plan(
            self.fields, self.share, self.num_envs, tree=self.tree, stack=self.frame_stack, extra=extra,
            small=self.small,
        )  # fmt: skip


def whole(number: Any, name: str, least: int = 1) -> int:
    """The number; `ArgumentError` if it is not an integer, or less than `least`."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise ArgumentError(f"{name} is {number!r}; write a whole number, {least} or more")
    return int(number)


def rate(number: Any, name: str, *, most: float = 1.0) -> float:
    """The number; `ArgumentError` if it is not between 0 and `most`."""
    try:
        if 0 <= number <= most and number < math.inf:
            return float(number)
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"{name} of a replay buffer is {number!r}; it lies between 0 and {most:g}")


def _stacked(fields: tuple[Field, ...], stack: int) -> tuple[Field, ...]:
    by_name = {field.name: field for field in fields}
    for name in ("obs", "next_obs"):
        field = by_name.get(name)
        if field is None or not field.shape or field.shape[0] != stack or field.shape != by_name["obs"].shape:
            raise ArgumentError(
                f"frame_stack={stack} takes fields 'obs' and 'next_obs' of the same shape with {stack} frames along "
                f"the first axis, but {name!r} is {field or 'missing'}"
            )
    return tuple(f._replace(stacked=stack > 1) if f.name in {"obs", "next_obs"} else f for f in fields)


def _of_several_steps(given: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields of n-step rows: those of single steps, and `discount`."""
    found = {f.name: (f.dtype, f.shape) for f in given}
    wanted = {"reward": np.float32, "terminated": np.bool_, "truncated": np.bool_}
    for name, dtype in wanted.items():
        if found.get(name) != (np.dtype(dtype), ()):
            raise ArgumentError(f"n_step > 1 takes a field {name!r} of {np.dtype(dtype)} without further axes")
    if "discount" in found:
        raise ArgumentError("n_step > 1 makes the field 'discount' itself: leave it out")
    return (*given, Field("discount", np.dtype(np.float32), ()))
