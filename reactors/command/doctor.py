"""Does this machine have what programs of reactors need?

Every finding is a fact with a verdict: `ok`, `note` for what some programs will miss, `bad` for what all do. Where it
is not `ok`, it says what to do. Nothing large is imported to find out.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import cache_from_source, find_spec
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIB, _GIB = 1 << 20, 1 << 30
_EXTRAS = {  # packages that programs may want, for what, and how to install them
    "torch": ("for .tensor and for learning", "pip install torch, which the extra rl has, too"),
    "gymnasium": ("for environments", "pip install gymnasium, which the extra rl has, too"),
    "numba": ("for reactions compiled from Python", "pip install numba"),
}
_COMPILED = {  # modules in C: every program needs the first ones, learning the others, too
    "core in C": ("reactors_runtime._core", "reactors_runtime._doors"),
    "replay in C": ("reactors.rl._core", "reactors.rl._rows"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about this machine."""

    name: str
    verdict: Literal["ok", "note", "bad"]
    fact: str
    remedy: str = ""


def examine() -> list[Finding]:
    """All there is to know, what matters most first."""
    found = [_python(), *starmap(_compiled, _COMPILED.items()), _system()]
    found += [*_packages(), *bytecode("torch")]
    found += [_compiler(), _dot(), _cores(), _memory()]
    found += limits(Path("/proc/self/limits"))
    return found


def table(findings: list[Finding]) -> str:
    """The findings for people: one on a line, with the remedy below it.

    >>> print(table([Finding("dot", "note", "not found", "install Graphviz"), Finding("numpy", "ok", "2.4.0")]))
    note  dot    not found
                 -> install Graphviz
    ok    numpy  2.4.0
    """
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.verdict:4}  {finding.name:{width}}  {finding.fact}")
        lines += [" " * (width + 8) + f"-> {finding.remedy}"] * bool(finding.remedy)
    return "\n".join(lines)


_DECISIVE = (  # variables by which programs run otherwise
    "CC", "CI", "CUDA_VISIBLE_DEVICES", "LD_PRELOAD", "MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "PYTHONBREAKPOINT", "PYTHONDEVMODE", "PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONPATH",
    "PYTHONWARNINGS", "RAY_ADDRESS",
)  # fmt: skip


def report(findings: list[Finding]) -> str:
    """What an issue needs, as Markdown: versions, the machine, variables by which programs run otherwise, the findings.

    The home folder is written as `~`.
    """
    libc = " ".join(platform.libc_ver()) or "an unknown C library"
    said = {name: os.environ[name] for name in _DECISIVE if name in os.environ}
    lines = [
        f"reactors {metadata.version('reactors')} on {platform.platform()}, {libc}",
        f"processor: {_processor()}",
        f"packages: {', '.join(f'{name} {version}' for name, version in _dependencies())}",
        f"environment: {', '.join(starmap('{}={}'.format, said.items())) or 'nothing that decides how programs run'}",
        "",
        table(findings),
    ]
    return "\n".join(["```text", *lines, "```"]).replace(str(Path.home()), "~")


def _dependencies() -> Iterator[tuple[str, str]]:
    """The packages that this one names, but for its own development, as far as they are installed."""
    named = (
        re.match(r"[\w.-]+", each)
        for each in metadata.requires("reactors") or ()
        if "'dev'" not in each.replace('"', "'")
    )
    for name in sorted({found[0] for found in named if found and found[0] != "reactors"}):
        if version := _version(name):
            yield name, version


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"


def _python() -> Finding:
    fact = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    if sys.version_info < (3, 11) or sys.implementation.name != "cpython":
        return Finding("python", "bad", fact, "use CPython 3.11 or later")
    return Finding("python", "ok", fact)


def _compiled(name: str, modules: tuple[str, ...]) -> Finding:
    try:
        files = [str(import_module(module).__file__) for module in modules]
    except ImportError as error:
        remedy = "reinstall reactors, from where it came (pip install --force-reinstall FILE); in a clone: make build"
        return Finding(name, "bad", f"cannot be loaded: {error}", remedy)
    return Finding(name, "ok", files[0])


def _system() -> Finding:
    fact = f"{platform.system()} {platform.release()}, {platform.machine()}"
    try:
        os.close(os.memfd_create("reactors"))
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        remedy = 'worker processes need Linux 5.3 or later; elsewhere use one worker, or backend="thread"'
        return Finding("system", "note", f"{fact}, without memfd or pidfd ({error})", remedy)
    return Finding("system", "ok", fact)


def _packages() -> Iterator[Finding]:
    installed = _version("numpy")
    yield Finding("numpy", "ok", installed) if installed else Finding("numpy", "bad", "missing", "pip install numpy")
    for name, (what, remedy) in _EXTRAS.items():
        installed = _version(name)
        if installed:
            yield Finding(name, "ok", installed)
        else:
            yield Finding(name, "note", f"missing ({what})", f"if a program needs it: {remedy}")


def bytecode(package: str) -> Iterator[Finding]:
    """Whether Python compiles a package again whenever it is imported, which for a large one takes seconds."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return
    file, folder = Path(cache_from_source(spec.origin)), Path(spec.origin).parent
    why = "PYTHONDONTWRITEBYTECODE is set" if sys.dont_write_bytecode else f"{folder} cannot be written to"
    if file.exists() or (not sys.dont_write_bytecode and os.access(folder, os.W_OK)):
        yield Finding("bytecode", "ok", f"that of {package} is kept")
    else:
        remedy = f"once, and imports take seconds less: {sys.executable} -m compileall -q {folder}"
        yield Finding("bytecode", "note", f"{package} is compiled at each import: it has none, and {why}", remedy)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _compiler() -> Finding:
    wanted = os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "")
    for name in filter(None, (wanted.partition(" ")[0], "cc", "gcc", "clang")):
        if path := shutil.which(name):
            return Finding("compiler", "ok", f"{path}: {_said(path, '--version')}")
    remedy = "to build from source, or reactions in C: apt install build-essential (or gcc, or clang)"
    return Finding("compiler", "note", "missing (installed wheels do without)", remedy)


def _dot() -> Finding:
    path = shutil.which("dot")
    if path is None:
        remedy = "for .svg, .png and .pdf: apt install graphviz, brew install graphviz or conda install graphviz"
        return Finding("dot", "note", "missing (.dot and .mmd do without)", remedy)
    return Finding("dot", "ok", f"{path}: {_said(path, '-V')}")


def _said(*command: str) -> str:
    """The first line of what a program says of itself."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ((run.stdout or run.stderr).splitlines() or [""])[0]


def _cores() -> Finding:
    every = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    quota = _quota(_cgroup("cpu.max", "cpu/cpu.cfs_quota_us"), _cgroup("", "cpu/cpu.cfs_period_us"))
    most = usable if quota is None else max(1, min(usable, int(quota)))
    fact = f"{usable} of {every} may be used" if usable < every else f"{every}"
    if quota is not None and quota < usable:
        fact += f", and the container has {quota:g} of their time"
    if most < every:
        return Finding(
            "cores", "note", fact, f"use {most} worker{'s' * (most > 1)} at most, or widen the affinity or quota"
        )
    return Finding("cores", "ok", fact)


def _quota(limit: str, period: str) -> float | None:
    """How many cores' worth of time a control group has.

    >>> _quota("150000 100000", ""), _quota("max 100000", ""), _quota("-1", "100000"), _quota("", "")
    (1.5, None, None, None)
    """
    parts = [*limit.split(), *period.split()]
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]) / int(parts[1])


def _cgroup(second: str, first: str) -> str:
    """A file of the control group, as version 2 or version 1 of them names it; "" if there is none."""
    for file in filter(None, (second, first)):
        try:
            return (Path("/sys/fs/cgroup") / file).read_text().strip()
        except OSError:
            continue
    return ""


def _memory() -> Finding:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return Finding("memory", "note", "unknown: there is no /proc/meminfo")
    sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    total, free = sizes["MemTotal"], sizes.get("MemAvailable", sizes["MemFree"])
    fact = f"{free / _GIB:.1f} of {total / _GIB:.1f} GiB are free"
    limit = _cgroup("memory.max", "memory/memory.limit_in_bytes")
    if limit.isdecimal() and int(limit) < total:
        used = _cgroup("memory.current", "memory/memory.usage_in_bytes")
        free = min(free, int(limit) - (int(used) if used.isdecimal() else 0))
        fact += f", and {free / _GIB:.1f} of the {int(limit) / _GIB:.1f} GiB of the container"
    if free < _GIB:
        return Finding(
            "memory", "note", fact, "a program's memory is reserved when it starts: free some, or send less at once"
        )
    return Finding("memory", "ok", fact)


def limits(file: Path) -> Iterator[Finding]:
    """What the system allows a process: too little, and a run ends when it starts or in the midst of it."""
    try:
        rows = re.findall(r"^(Max [a-z ]+?) {2,}(\S+)", file.read_text(), re.MULTILINE)
    except OSError:
        yield Finding("limits", "note", f"unknown: there is no {file}")
        return
    limits = {name: None if soft == "unlimited" else int(soft) for name, soft in rows}
    for name, row, enough, remedy in (
        ("processes", "Max processes", 512, "each worker is one, and what it starts: ulimit -u"),
        ("descriptors", "Max open files", 1024, "workers, environments and files need some each: ulimit -n"),
        ("locked memory", "Max locked memory", _MIB, "pages locked for transfers to a GPU count against it: ulimit -l"),
    ):
        soft = limits.get(row)
        fact = "no limit" if soft is None else f"{soft / _MIB:g} MiB" if enough == _MIB else f"{soft:,}"
        short = soft is not None and soft < enough
        yield Finding(name, "note" if short else "ok", fact, remedy if short else "")
