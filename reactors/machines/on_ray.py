"""Machines that Ray starts: an actor on each runs `reactors join`. What goes between machines does not go by Ray."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from reactors.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reactors_runtime.machines.leading import Gathering

_BY_NAME = {"CPU", "GPU", "memory"}  # resources that an actor asks for by arguments of their own


def own_address(address: str) -> tuple[str, int]:
    """Where other machines of the cluster find this one, at any port; connects to the cluster first."""
    ray = _connected(address)
    return str(ray.util.get_node_ip_address()), 0


def _connected(address: str) -> Any:
    try:
        import ray
    except ImportError:
        raise MachineError("rx.Machines(ray=...) needs Ray, which is not installed; pip install ray") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=True)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise MachineError(f"there is no Ray cluster at {address!r}: {error}") from None
    return ray


class _Machine:
    """An actor. What the program prints there, Ray forwards to its driver."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, address: str, token: bytes) -> str:
        """Let a process of this machine join."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reactors", "join", address, "--token-file", "/dev/stdin"],
            stdin=subprocess.PIPE,
            env={
                name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"
            },  # Ray's, not the user's
        )
        assert self.process.stdin is not None
        with self.process.stdin as pipe, contextlib.suppress(BrokenPipeError):  # its exit status is looked at
            pipe.write(token)
        return os.uname().nodename

    def wait(self, seconds: float) -> int | None:
        """Its exit status, once it has one."""
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode

    def kill(self) -> None:
        """End it."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def on_ray(
    address: str, gathering: Gathering, workers: int, resources: Mapping[str, float] | None, patience: float
) -> Iterator[Callable[[], None]]:
    """Starts an actor on each of the others, spread over the cluster; none is left at the end.

    What it gives raises `MachineError` where the cluster has no room for them within `patience`, in seconds, or one has
    ended before it joined.
    """
    ray = _connected(address)
    wanted = {"CPU": float(workers), **(resources or {})}
    n = gathering.count - 1
    group = ray.util.placement_group([wanted] * n, strategy="SPREAD") if n else None
    until = time.monotonic() + patience
    actors: list[Any] = []
    starting: list[Any] = []

    def exit_statuses() -> list[int | None]:
        """What the processes of the others have ended with, once all have started."""
        done, _ = ray.wait(starting, num_returns=len(starting), timeout=0) if starting else ([], [])
        ray.get(done)
        return ray.get([actor.wait.remote(0.0) for actor in actors]) if len(done) == len(starting) else []

    def look() -> None:
        if not actors and group is not None:
            if not group.wait(0.2):
                if time.monotonic() > until:
                    needs = ", ".join(f"{amount:g} {name}" for name, amount in wanted.items())
                    raise MachineError(
                        f"the Ray cluster has no room for {n} more machine{'s' * (n != 1)} with {needs} each; take "
                        "fewer workers or machines, or let it grow"
                    )
                return
            strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy
            kind = ray.remote(_Machine)
            host, port = gathering.address
            for bundle in range(n):
                actor = kind.options(
                    num_cpus=wanted["CPU"],
                    resources={name: amount for name, amount in wanted.items() if name not in _BY_NAME},
                    num_gpus=wanted.get("GPU", 0.0),
                    memory=wanted.get("memory"),
                    scheduling_strategy=strategy(placement_group=group, placement_group_bundle_index=bundle),
                ).remote()
                actors.append(actor)
                starting.append(actor.start.remote(f"{host}:{port}", gathering.token))
        try:
            statuses = exit_statuses()
        except ray.exceptions.RayError as error:
            raise MachineError(f"a machine of Ray's has failed before it joined: {error}") from error
        if len(gathering.members) < n:
            for status in statuses:
                if status is not None:
                    raise MachineError(f"a machine of Ray's has ended with status {status} before it joined")

    try:
        yield look
        whole = all(member.outcome is not None and member.outcome.reports for member in gathering.members)
        with contextlib.suppress(ray.exceptions.RayError):
            ray.get([actor.wait.remote(10.0 if whole else 0.0) for actor in actors])
    finally:
        for actor in actors:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(actor.kill.remote(), timeout=5.0)
            ray.kill(actor)
        if group is not None:
            ray.util.remove_placement_group(group)
