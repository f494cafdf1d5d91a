"""A program of three reactors on a cluster of three raylets, all here; prints what test_ray.py looks at."""

import json
import sys
import time
from typing import Any

import ray
from ray.cluster_utils import Cluster

import reactors as rx
from reactors.machines import on_ray


class Source(rx.Reactor):
    tick = rx.Timer(0, "1 ms")
    out = rx.Output(int)

    @rx.reaction(tick, effects=out)
    def go(self) -> None:
        self.out.set(self.tag.time)


class Adds(rx.Reactor):
    given = rx.Input(int)
    out = rx.Output(int)

    def __init__(self) -> None:
        self.n = 0

    @rx.reaction(given, effects=out)
    def take(self) -> None:
        self.n += self.given.value
        self.out.set(self.n)
        if self.tag.time == 0:
            print("a line from another machine", flush=True)


class Sink(rx.Reactor):
    given = rx.Input(int)

    def __init__(self) -> None:
        self.seen: list[int] = []

    @rx.reaction(given)
    def take(self) -> None:
        self.seen.append(self.given.value)


class Line(rx.Reactor):
    def __init__(self) -> None:
        self.source, self.adds, self.sink = Source(), Adds(), Sink()
        self.source.out >> self.adds.given
        self.adds.out >> self.sink.given


class Broken(on_ray._Machine):
    def start(self, address: str, token: bytes) -> str:
        """As where there is no Python to start."""
        raise FileNotFoundError("no python")


def main() -> None:
    """One row of JSON for each number of machines, what is said where there is no room, and where none starts."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address)
    found: list[Any] = []
    try:
        for count in (1, 2, 3):
            main = Line()
            placement = {"main.adds": 1 % count, "main.sink": count - 1}
            machines = rx.Machines(ray="auto", count=count, resources={"memory": 1e6})
            result = rx.run(main, fast=True, timeout="100 ms", workers=count, machines=machines, placement=placement)
            found.append([count, result.digest, main.sink.seen])
        try:
            rx.run(Line(), fast=True, workers=9, machines=rx.Machines(ray="auto", count=9, patience="2 s"))
        except rx.MachineError as error:
            found.append(str(error))
        on_ray._Machine = Broken  # type: ignore[misc]
        try:
            rx.run(Line(), fast=True, workers=2, machines=rx.Machines(ray="auto", count=2))
        except rx.MachineError as error:
            found.append(str(error))
        time.sleep(1)  # Ray forwards what was printed now and then
    finally:
        ray.shutdown()
        cluster.shutdown()
    sys.stdout.write(f"\n{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
