"""Settings of the caller's process and thread that decide values hold on every worker of every backend."""

from __future__ import annotations

import decimal
import importlib
import locale
import subprocess
import sys
import textwrap
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

import reactors as rx
from reactors.stepwise import Stepwise
from reactors_runtime.processes import servers
from reactors_runtime.settings.value_settings import ValueSettings
from tests.faults.programs import Pair, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BACKENDS: tuple[Literal["inline", "thread", "process"], ...] = ("inline", "thread", "process")


class Look(rx.Reactor):
    def __init__(self, look: Callable[[], object]) -> None:
        self.look = look
        self.seen: object = None

    @rx.reaction(rx.startup)
    def see(self) -> None:
        self.seen = self.look()


class Looks(rx.Reactor):
    def __init__(self, look: Callable[[], object]) -> None:
        self.looks = rx.bank(2, Look, look)


def everywhere(look: Callable[[], object]) -> Any:
    """What `look` returns, which has to be the same on all workers."""
    seen = []
    for backend in BACKENDS:
        main = Looks(look)
        rx.run(main, workers=1 if backend == "inline" else 2, backend=backend)
        seen += [each.seen for each in main.looks]
    assert all(each == seen[0] for each in seen), seen
    return seen[0]


@contextmanager
def restored() -> Iterator[None]:
    before = ValueSettings.now()
    try:
        yield
    finally:
        before.accept()


def of_python() -> tuple[object, ...]:
    raised = []
    for message in ("an error here", "no error"):
        try:
            warnings.warn(message, UserWarning, stacklevel=1)
        except UserWarning as error:
            raised.append(str(error))
    return (
        sys.getrecursionlimit(),
        sys.get_int_max_str_digits(),
        locale.format_string("%.2f", 1.5),
        str(decimal.Decimal(1) / 3),
        raised,
    )


def test_settings_of_python_and_what_they_were_before() -> None:
    before = everywhere(of_python)
    with restored(), decimal.localcontext(prec=5):
        sys.setrecursionlimit(777)
        sys.set_int_max_str_digits(2000)
        warnings.filterwarnings("error", "an error")
        warnings.filterwarnings("ignore", "no error")
        assert everywhere(of_python) == (777, 2000, "1.50", "0.33333", ["an error here"])
    assert everywhere(of_python) == before


def test_the_locale() -> None:
    before = locale.setlocale(locale.LC_ALL)
    numbers = "C.UTF-8" if locale.setlocale(locale.LC_NUMERIC) == "C" else "C"
    try:
        locale.setlocale(locale.LC_NUMERIC, numbers)
        assert everywhere(lambda: locale.setlocale(locale.LC_NUMERIC)) == numbers
    finally:
        locale.setlocale(locale.LC_ALL, before)
    assert everywhere(lambda: locale.setlocale(locale.LC_ALL)) == before


def of_numpy() -> tuple[object, ...]:
    try:
        quotient = str(np.ones(1) / np.zeros(1))
    except FloatingPointError as error:
        quotient = str(error)
    return quotient, np.getbufsize()


def test_what_numpy_does_about_errors_of_numbers() -> None:
    with np.errstate(divide="raise"):
        assert everywhere(of_numpy) == ("divide by zero encountered in divide", 8192)
    with np.errstate(divide="ignore"), restored():
        np.setbufsize(1024)
        assert everywhere(of_numpy) == ("[inf]", 1024)


def of_torch() -> tuple[object, ...]:
    import torch

    return (
        str(torch.zeros(1).dtype),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.benchmark,
        torch.backends.mha.get_fastpath_enabled(),
        torch.get_default_device().type,
        str((torch.ones(1, 1, dtype=torch.float32) @ torch.ones(1, 1, dtype=torch.float32)).dtype),
        torch.nn.Linear(2, 2)(torch.ones(1, 2)).requires_grad,
        (torch.tensor([sys.float_info.min], dtype=torch.float64) / 2).item() > 0,
    )


def test_settings_of_torch_whether_or_not_a_worker_has_imported_it_before() -> None:
    torch = pytest.importorskip("torch")
    before = ("torch.float32", False, "highest", False, True, "cpu", "torch.float32", True, True)
    try:
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_float32_matmul_precision("medium")
        torch.backends.cudnn.benchmark = True
        torch.backends.mha.set_fastpath_enabled(False)
        flushed = torch.set_flush_denormal(True)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            wanted = ("torch.float64", True, "medium", True, False, "cpu", "torch.bfloat16", False, not flushed)
            assert everywhere(of_torch) == wanted
            servers.close_server()
            assert everywhere(of_torch) == wanted
    finally:
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.benchmark = False
        torch.backends.mha.set_fastpath_enabled(True)
        torch.set_flush_denormal(False)
    assert everywhere(of_torch) == before


def test_the_newer_way_to_say_how_exact_products_are() -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch.backends.mkldnn, "matmul"):
        return

    def precisions() -> tuple[str, str]:
        import torch

        backends: Any = torch.backends
        return backends.mkldnn.matmul.fp32_precision, backends.cuda.matmul.fp32_precision

    before = precisions()
    try:
        torch.backends.mkldnn.matmul.fp32_precision = "bf16"
        assert everywhere(precisions) == ("bf16", before[1])
    finally:
        torch.backends.mkldnn.matmul.fp32_precision = before[0]


def test_the_default_device() -> None:
    torch = pytest.importorskip("torch")

    def look() -> str:
        import torch

        return torch.zeros(1).device.type

    with torch.device("meta"):
        assert everywhere(look) == "meta"


def test_no_worker_imports_torch_for_its_settings() -> None:
    pytest.importorskip("torch")
    servers.close_server()
    main = Looks(lambda: "torch" in sys.modules)
    rx.run(main, workers=2, backend="process")
    assert [each.seen for each in main.looks] == [False, False]


def test_filters_for_warnings_of_a_module_that_is_imported_later(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_with_a_warning.py").write_text(
        "import warnings\nclass OwnWarning(UserWarning): pass\nwarnings.simplefilter('ignore', OwnWarning)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def look() -> str:
        import module_with_a_warning  # type: ignore[import-not-found]

        try:
            warnings.warn("of its own", module_with_a_warning.OwnWarning, stacklevel=1)
        except module_with_a_warning.OwnWarning:
            return "raised"
        return "passed"

    with warnings.catch_warnings():
        own = importlib.import_module("module_with_a_warning").OwnWarning
        assert everywhere(look) == "passed"
        warnings.simplefilter("error", own)
        assert everywhere(look) == "raised"


def test_a_class_of_warnings_that_the_main_script_defines() -> None:
    program = """
        import warnings
        import reactors as rx

        class Own(UserWarning): pass

        warnings.simplefilter("error", Own)

        class Careless(rx.Reactor):
            @rx.reaction(rx.startup)
            def go(self):
                warnings.warn("now an error", Own)

        for backend in ("inline", "process"):
            try:
                rx.run(Careless(), backend=backend)
            except rx.ReactionError as error:
                print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout == "main.go at 0 s raised Own: now an error\n" * 2


def test_what_modules_set_when_a_worker_imports_them_does_not_count(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_that_sets.py").write_text(
        "import sys\nsys.setrecursionlimit(4321)\ndef deed(actor):\n"
        "    actor.seen = sys.getrecursionlimit()\n    actor.request_stop()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = sys.getrecursionlimit()
    import module_that_sets  # type: ignore[import-not-found]

    sys.setrecursionlimit(before)
    main: Any = Pair(module_that_sets.deed)
    run(main)
    assert main.actor.seen == before


def test_steps_from_outside_have_the_settings_of_the_thread_that_began_them() -> None:
    class Main(rx.Reactor):
        def __init__(self) -> None:
            self.look = Look(lambda: str(decimal.Decimal(1) / 3))

        @rx.reaction(rx.startup, effects=rx.stop)
        def end(self) -> None:
            self.request_stop()

    main = Main()
    with decimal.localcontext(prec=3):
        steps = Stepwise(main, workers=2, placement={"main.look": 1})
    assert not steps.advance()
    assert main.look.seen == "0.333"


def test_reactions_of_two_workers_do_not_share_a_decimal_context() -> None:
    def look() -> str:
        decimal.getcontext().prec += 1
        return str(decimal.Decimal(1) / 3)

    with decimal.localcontext(prec=3):
        main = Looks(look)
        rx.run(main, workers=2, backend="thread")
    assert [each.seen for each in main.looks] == ["0.3333", "0.3333"]


def test_a_decimal_context_of_the_users_does_not_round_times() -> None:
    with decimal.localcontext(decimal.Context(prec=2, traps=[decimal.Inexact])):
        assert str(rx.Tag(1_234_567, 0)) == "1.234567 ms"
        seen: list[int] = []

        class Once(rx.Reactor):
            tick = rx.Timer("1.234567 ms")

            @rx.reaction(tick)
            def look(self) -> None:
                seen.append(self.tag.time)

        rx.run(Once(), fast=True)
    assert seen == [1_234_567]
