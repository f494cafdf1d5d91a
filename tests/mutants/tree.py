"""A copy of the repository in which mistakes are planted: what has to be built for a test, and which test notices."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.mutants.planted import Planted, changed

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / "build" / "mutants"
TEST_TIMEOUT = 60  # seconds for one test; what takes longer hangs
TIMEOUT = 1800  # for all tests at once, of which each has its own timeout: nothing should ever come to it


class Outcome(NamedTuple):
    """What came of one mistake."""

    mistake: Planted
    by: str | None  # the test that noticed it; None: it survived
    seconds: float
    fault: str | None = None  # why it could not be tried


class FaultyError(Exception):
    """The list, or a test as it is without any mistake, is at fault."""


class Tree:
    """A copy of the repository in which mistakes are planted, with an environment of its own and what is built."""

    def __init__(self, number: int) -> None:
        self.running: subprocess.Popen[str] | None = None
        self.home = SCRATCH / str(number)
        self.root = self.home / "tree"
        self.python = self.home / "venv" / "bin" / "python"
        self.copy()
        if not self.python.exists():
            self.make_environment()
        self.configure()
        self.build()
        self.compile()

    def copy(self) -> None:
        """What git knows, and what is new; files that are the same stay, so that little is built again."""
        listed = subprocess.check_output(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True
        ).splitlines()
        wanted = {name for name in listed if (ROOT / name).is_file()}
        for name in wanted:
            there = self.root / name
            content = (ROOT / name).read_bytes()
            if not there.exists() or there.read_bytes() != content:
                there.parent.mkdir(parents=True, exist_ok=True)
                there.write_bytes(content)
        for path in self.root.rglob("*"):
            name = str(path.relative_to(self.root))
            if path.is_file() and name not in wanted and path.suffix not in {".so", ".pyc"}:
                path.unlink()

    def make_environment(self) -> None:
        """Python with our own packages from the copy, and everybody else's from the environment that runs this."""
        venv.create(self.home / "venv", symlinks=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = self.home / "venv" / "lib" / version / "site-packages"
        paths = self.root, self.root / "runtime", sysconfig.get_path("purelib")
        (packages / "mutants.pth").write_text("".join(f"{path}\n" for path in paths))

    def configure(self) -> None:
        """The extensions as wheels have them, and the tests of the core."""
        settings = {
            "SKBUILD_SABI_COMPONENT": "Development.SABIModule", "SKBUILD_SABI_VERSION": "3.11",
            "Python_EXECUTABLE": sys.executable, "Python_INCLUDE_DIR": sysconfig.get_path("include"),
        }  # fmt: skip
        for name, source, options in (
            ("extensions", self.root, [f"-D{name}={value}" for name, value in settings.items()]),
            ("tests", self.root / "csrc", [f"-DRX_PYTHON={self.python}"]),
        ):
            self.do(
                "cmake", "-S", str(source), "-B", str(self.home / name), "-G", "Ninja", "--log-level=WARNING", *options
            )

    def build(self) -> None:
        """The extensions, put where Python looks for them."""
        self.do("cmake", "--build", str(self.home / "extensions"))
        for package, folder in (("reactors_runtime", "runtime/reactors_runtime"), ("reactors/rl", "reactors/rl")):
            for built in (self.home / "extensions" / package).glob("*.abi3.so"):
                self.put(built, self.root / folder / built.name)

    def put(self, built: Path, there: Path) -> None:
        """A copy of what was just built, in one step: a process may have the old one open."""
        if not there.exists() or there.stat().st_mtime < built.stat().st_mtime:
            fresh = there.with_suffix(".new")
            shutil.copy2(built, fresh)
            fresh.replace(there)

    def compile(self) -> None:
        """Byte code that goes by what a file says: by times and sizes, a changed one might be taken for unchanged."""
        kept = ("-m", "compileall", "-q", "--invalidation-mode", "checked-hash")
        self.do(str(self.python), *kept, "reactors", "runtime", "tests")

    def do(self, *words: str) -> None:
        """Run a tool; what it prints is for when it fails."""
        tools = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(words, cwd=self.root, env=os.environ | tools, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FaultyError(f"{' '.join(words)}:\n{done.stdout}{done.stderr}")

    def first_failing(self, tests: Sequence[str]) -> str | None:
        """The test that fails first; None if none does."""
        for test in tests:
            if test.endswith(".c") and (failing := self.fails_in_c(test)):
                return failing
        in_python = [test for test in tests if not test.endswith(".c")]
        return self.fails_in_python(in_python, "-x", "-p", "no:xdist") if in_python else None

    def fails_in_c(self, test: str) -> str | None:
        """A file of C tests, with the line of the assertion that fails."""
        target = Path(test).stem
        self.build()  # which the images are made with
        self.do("cmake", "--build", str(self.home / "tests"), "--target", target)
        status, said = self.watched([str(self.home / "tests" / target)], TEST_TIMEOUT)
        if status is None:
            return f"{test} (hangs)"
        line = re.search(r":(\d+): .*Assertion", said)
        return f"{test}{f':{line[1]}' if line else ''}" if status else None

    def fails_in_python(self, tests: Sequence[str], *options: str) -> str | None:
        """What fails of Python tests."""
        self.build()
        words = [str(self.python), "-m", "pytest", *tests, *options, "-v", "-rfE", "--tb=no", "--color=no"]
        words += ["-p", "no:cacheprovider", f"--timeout={TEST_TIMEOUT}", "--programs=40"]
        status, said = self.watched(words, TIMEOUT)
        if status == 0:
            return None
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
        if failed:
            return ", ".join(failed)
        if status is None:
            raise FaultyError(f"these tests hang, and no timeout of theirs ends them: {' '.join(tests)}")
        if status in (4, 5):
            raise FaultyError(f"these are no tests: {' '.join(tests)}:\n{said}")
        begun = re.findall(r"^(\S+::\S+)", said, re.MULTILINE) or [tests[0]]
        return f"{begun[-1]} ({'hangs' if 'Timeout' in said else f'ends with {status}'})"

    def watched(self, words: list[str], timeout: float | None) -> tuple[int | None, str]:
        """Exit status and output of what runs in a session of its own; None: it was killed."""
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "VIRTUAL_ENV": str(self.home / "venv")}
        environment["PATH"] = f"{self.python.parent}{os.pathsep}{environment['PATH']}"
        with (self.home / "said").open("w+") as said:
            process: subprocess.Popen[str] = subprocess.Popen(
                words, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said, text=True,
                start_new_session=True,
            )  # fmt: skip
            self.running = process
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.stop()
            said.seek(0)
            return status, said.read()

    def stop(self) -> None:
        """End what runs, and all that it has left behind: a mistake may be just that."""
        process, self.running = self.running, None
        mark = f"VIRTUAL_ENV={self.home / 'venv'}".encode()
        for each in Path("/proc").iterdir():
            with contextlib.suppress(OSError):  # it has ended
                if each.name.isdigit() and mark in (each / "environ").read_bytes().split(b"\0"):
                    os.kill(int(each.name), signal.SIGKILL)
        if process is not None:
            process.wait()

    def tried(self, mistake: Planted) -> Outcome:
        """What comes of it."""
        began = time.monotonic()
        file = self.root / mistake.file
        text = file.read_text()
        file.write_text(changed(text, mistake.old, mistake.new))
        by = fault = None
        try:
            by = self.first_failing(mistake.tests)
        except FaultyError as error:
            fault = str(error)
        finally:
            file.write_text(text)
        return Outcome(mistake, by, time.monotonic() - began, fault)
