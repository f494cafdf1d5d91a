"""Ray, started as quietly as it can be: no dashboard, no logs, a slot for every actor."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextlib.contextmanager
def started(actors: int) -> Iterator[Any]:
    """`ray` with room for so many actors. Peers of one process share what is started first."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_CGRAPH_get_timeout", "120")
    os.environ.setdefault("RAY_CGRAPH_submit_timeout", "120")
    import ray

    if ray.is_initialized():
        yield ray
        return
    ray.init(
        num_cpus=2 * actors + 2,  # both of a row's Ray peers are open at once, one of them idle
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=4 << 30,
    )
    try:
        yield ray
    finally:
        ray.shutdown()


@contextlib.contextmanager
def nodes(count: int) -> Iterator[Any]:
    """`ray` on so many nodes, each a raylet of this machine with room for one actor."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    given = {"num_cpus": 1, "object_store_memory": 1 << 30}
    cluster = Cluster(initialize_head=True, head_node_args={**given, "include_dashboard": False})
    try:
        for _ in range(count - 1):
            cluster.add_node(**given)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield ray
    finally:
        ray.shutdown()
        cluster.shutdown()


class Compiled:
    """A compiled graph that hands its one input to `method` of every actor and gathers their answers.

    Its actors poll their channels for as long as it stands, and to start them takes half a minute on a busy machine; so
    they are stopped by signal whenever it is another peer's turn.
    """

    def __init__(self, ray: Any, actors: Sequence[Any], method: str, size: int = 1 << 20) -> None:
        from ray.dag import InputNode, MultiOutputNode

        self.ray = ray
        self.pids = ray.get([actor.__ray_call__.remote(lambda _: os.getpid()) for actor in actors])
        with InputNode() as given:
            graph = MultiOutputNode([getattr(actor, method).bind(given) for actor in actors])
        self.graph = graph.experimental_compile(_buffer_size_bytes=size)
        self.signal(signal.SIGSTOP)

    def signal(self, number: int) -> None:
        for pid in self.pids:
            os.kill(pid, number)

    def __call__(self, given: Any) -> Any:
        """One round."""
        return self.ray.get(self.graph.execute(given))

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        """Let the actors run."""
        self.signal(signal.SIGCONT)
        try:
            yield
        finally:
            self.signal(signal.SIGSTOP)

    def close(self) -> None:
        self.signal(signal.SIGCONT)
        self.graph.teardown(kill_actors=True)
