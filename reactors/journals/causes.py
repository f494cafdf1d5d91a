"""Why does a reaction write something else, though it read the same?

What a journal knows decides where it can: something from outside came, or its reactor's state was another one before.
Beyond that the names that its code uses say what it may be, and the settings that differ; each cause comes with its
evidence, so that a guess is seen to be one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reactors_runtime._core import lib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reactors.journals.comparison import Comparison, Divergence
    from reactors.journals.journal import Journal

KINDS = ("order", "value", "own state", "random numbers", "outside world", "environment", "numeric kernels")

_NAMES = {  # that speak for a cause
    "random numbers": """
        random rand randn randint randrange rand_like randn_like randperm normal uniform choice choices shuffle sample
        permutation gauss default_rng multinomial bernoulli manual_seed standard_normal rsample getrandbits integers
        Random Generator dropout
    """,
    "outside world": """
        time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time now today utcnow urandom uuid1
        uuid4 token_bytes token_hex getpid get_ident environ getenv open read_text read_bytes urlopen gethostname
        cpu_count sched_getaffinity physical_time lag current_process current_thread native_id getloadavg stat datetime
        hostname listdir scandir iterdir glob rglob
    """,
    "order": "set frozenset hash id as_completed keys values items popitem { globals WeakSet repr",
    "environment": "env envs make make_vec step",
    "value": "empty empty_like new_empty loan tensor frombuffer from_numpy ndarray",
    "numeric kernels": """
        torch matmul dot einsum sum mean backward conv2d linear Linear solve inv svd linalg set_num_threads float32
        no_grad forward fft exp log tanh std var
    """,
}
_SAID = {
    "outside world": "its code asks {0}",
    "random numbers": "its code names {0}; numbers that are its own come from self.rng",
    "order": "its code names {0}, whose order or number is that of one process",
    "environment": "its code names {0}: an environment may be random by itself",
    "value": "its code names {0}: memory that was never written, or is written again",
}
_OWN = ("self.rng", "self.tag", "self.seed")  # chains that depend on nothing else


@dataclass(frozen=True)
class Cause:
    """What may be why: one of `KINDS`, `certain` if the journals say so, and in words what speaks for it."""

    kind: str
    evidence: str
    certain: bool = False


def causes(comparison: Comparison, divergence: Divergence) -> list[Cause]:
    """The likely ones, the likeliest first; there is always one."""
    return [*_known(comparison, divergence), *_guessed(comparison, divergence)]


def _known(comparison: Comparison, divergence: Divergence) -> Iterable[Cause]:
    one, reaction = comparison.one, comparison.one.reactions[divergence.reaction]
    inputs = [one.elements[e] for e in (*reaction["triggers"], *reaction["uses"])]
    from_outside = [e["path"] for e in inputs if e["kind"] == "physical_action" or e.get("physical")]
    if "what came from outside differs" in divergence.what:
        yield Cause("outside world", f"it read other values from outside, by {', '.join(from_outside)}", certain=True)
    if any("deadline" in what for what in divergence.what):
        yield Cause("outside world", "its deadline was missed in one run only, which the clock decides", certain=True)
    alone = divergence.one is None or divergence.other is None
    came = any(f"{path} is present" in what for path in from_outside for what in divergence.what)
    if from_outside and (alone or came):
        yield Cause("outside world", f"{', '.join(from_outside)} came at another tag, or not at all", certain=True)
    before = _state_before(comparison, divergence)
    if before:
        yield Cause("own state", before, certain=True)
    seeds = [each for each in comparison.settings if each.what == "seed"]
    if seeds and any(chain.startswith(("self.rng", "self.seed")) for chain in reaction.get("names", ())):
        yield Cause("random numbers", f"the seeds are {seeds[0].one} and {seeds[0].other}", certain=True)
    mine = f"the code of {reaction['path']}"
    reactor = one.reactors[reaction["reactor"]]["path"]
    for setting in comparison.settings:
        if setting.what == mine:
            yield Cause("value", f"its code is another one: {setting.one} and {setting.other}", certain=True)
        elif _owner(setting.what, one) == reactor:
            yield Cause("own state", f"its parameter {setting}")


def _owner(parameter: str, journal: Journal) -> str:
    """The path of the reactor whose parameter it is; "": of none."""
    paths = (str(each["path"]) for each in journal.reactors)
    return max((path for path in paths if parameter.startswith(f"{path}.")), key=len, default="")


def _state_before(comparison: Comparison, divergence: Divergence) -> str:
    """Whether the reactor's attributes were other ones the last time that both journals have them."""
    one, other = comparison.one, comparison.other
    if not (one.header["states"] and other.header["states"]) or divergence.one is None or divergence.other is None:
        return ""
    if divergence.what == ("its reactor's attributes afterwards differs",) and not divergence.ports:
        return "only its reactor's attributes differ: it keeps something else than it writes"
    return ""


def _guessed(comparison: Comparison, divergence: Divergence) -> Iterable[Cause]:
    one, other = comparison.one, comparison.other
    reaction = one.reactions[divergence.reaction]
    chains = {*reaction.get("names", ()), *other.reactions[divergence.reaction].get("names", ())}
    names = {name for chain in chains if not chain.startswith(_OWN) for name in _telling(chain)}
    for kind, said in _SAID.items():
        if found := sorted(names & {*_NAMES[kind].split()}):
            yield Cause(kind, said.format(", ".join(found)))
    kernels = sorted(names & {*_NAMES["numeric kernels"].split()})
    versions = [s for s in comparison.settings if s.what in ("numpy", "torch", "processor", "OMP_NUM_THREADS")]
    if kernels or versions:
        texts = [*map(str, versions), *[f"its code names {', '.join(kernels)}"] * bool(kernels)]
        yield Cause("numeric kernels", "; ".join(texts))
    if divergence.one is None or divergence.other is None or divergence.what:
        yield Cause("order", "; ".join(divergence.what) or "it ran in one run only")
    flags = one.rows["flags"][divergence.one] if divergence.one is not None else 0
    state = "with" if flags & lib.RX_DID_LAST else "journal_states=1 would say whether"
    yield Cause("own state", f"nothing in its code speaks for another cause; {state} its reactor's attributes differ")


_OF_PORTS = {"set", "set_all", "loan", "value", "array", "tensor", "is_present", "present", "schedule"}


def _telling(chain: str) -> list[str]:
    """The names of a chain that say something: not those that users give to attributes, nor what ports have."""
    names = chain.split(".")
    if names[0] != "self":
        return names
    return names[1:] if len(names) > 2 and names[-1] not in _OF_PORTS else []
