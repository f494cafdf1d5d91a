"""Machines in network namespaces of their own, with cables that can be cut. Needs root, and the command `ip`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoNamespacesError(Exception):
    """They cannot be made here; says why."""


class Cable:
    """To a namespace of the same name: addresses of this end, and of the end there."""

    def __init__(self, name: str, here: str, there: str) -> None:
        self.name, self.here, self.there = name, here, there

    def inside(self) -> list[str]:
        """What a command begins with that runs there."""
        return ["ip", "netns", "exec", self.name]

    def cut(self) -> None:
        ip("link", "set", self.name, "down")

    def lose_what_goes_to(self, other: Cable) -> None:
        """From inside, nothing arrives there any more."""
        ip("-n", self.name, "route", "add", "blackhole", f"{other.there}/32")

    def mend(self) -> None:
        ip("link", "set", self.name, "up")


@contextlib.contextmanager
def cables(count: int) -> Iterator[list[Cable]]:
    """So many namespaces, which find one another, and this side. Raises `NoNamespacesError`."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        raise NoNamespacesError("network namespaces need the command ip, and root")
    bridge = f"rx{os.getpid()}"
    made: list[tuple[str, ...]] = []
    try:
        _remove_those_of_the_dead()
        network = _free_network()
        ip("link", "add", bridge, "type", "bridge")
        made.append(("link", "del", bridge))
        ip("addr", "add", f"{network}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        found = []
        for n in range(count):
            name, there = f"{bridge}-{n}", f"{network}.{n + 2}"
            ip("netns", "add", name)
            made.append(("netns", "del", name))
            ip("link", "add", name, "type", "veth", "peer", "name", "far", "netns", name)
            made.append(("link", "del", name))  # else it stays for as long as the kernel knows of a connection
            ip("link", "set", name, "master", bridge, "up")
            ip("-n", name, "addr", "add", f"{there}/24", "dev", "far")
            ip("-n", name, "link", "set", "far", "up")
            ip("-n", name, "link", "set", "lo", "up")
            found.append(Cable(name, f"{network}.1", there))
        yield found
    except subprocess.CalledProcessError as error:
        raise NoNamespacesError(f"no network namespaces here: {error.stderr.decode().strip()}") from None
    finally:
        for words in reversed(made):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(*words)


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True).stdout.decode()


def _free_network() -> str:
    """The first three bytes of addresses that no interface here has: with two of one network, packets take either."""
    taken = set(re.findall(r"inet (\d+\.\d+\.\d+)\.", ip("-4", "addr")))
    mine = os.getpid() % 254
    return next(network for n in range(254) if (network := f"10.231.{(mine + n) % 254 + 1}") not in taken)


def _remove_those_of_the_dead() -> None:
    """Bridges and namespaces whose process was killed before it could remove them."""
    for kind, name, pid in (
        *(("netns", *found) for found in re.findall(r"^(rx(\d+)-\d+)", ip("netns", "list"), re.MULTILINE)),
        *(("link", *found) for found in re.findall(r"^\d+: (rx(\d+)(?:-\d+)?)[:@]", ip("link"), re.MULTILINE)),
    ):
        if not Path(f"/proc/{pid}").exists():
            with contextlib.suppress(subprocess.CalledProcessError):  # another test has done so
                ip(kind, "del", name)
