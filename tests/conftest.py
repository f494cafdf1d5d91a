"""Before every test the shared generators begin again; after it nothing is left of what it ran."""

import io
import random
import signal
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from reactors.names import lacking
from reactors.testing import nothing_left
from tests import slow


def pytest_configure(config: pytest.Config) -> None:
    """A shell that starts us in the background has SIGINT ignored, and so would all that we start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.measure and not hasattr(config, "workerinput"):
        config.pluginmanager.register(slow.Times())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--programs", type=int, default=300, help="how many random programs test_oracle.py tries")
    parser.addoption("--measure", action="store_true", help="write tests/slow.txt; with -n, and nothing beside it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow.mark(items)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Processes, descriptors, shared memory and threads are after a test as they were before it."""
    with nothing_left(seconds=1.0):
        yield


@pytest.fixture(autouse=True)
def draws_are_the_same() -> None:
    """What a test draws from generators that all share does not depend on tests before it, once torch is loaded."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the shared one is what is meant
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def torch_has_one_thread() -> None:
    """Several that wait for one another take minutes where all cores are busy."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def fonts() -> None:
    """Matplotlib keeps the fonts open that it has used: better before a test than in it."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.text(0, 0, "text")
    figure.savefig(io.BytesIO(), format="png")


@pytest.fixture
def hints_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process without many runs: after some hundred, objects at rest no longer say what they have."""
    monkeypatch.setattr(lacking, "_changes", 0)
    lacking.begin()
    lacking.end()
