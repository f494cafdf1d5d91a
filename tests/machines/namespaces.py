"""Machines in network namespaces of their own, with cables that can be cut. Needs root, and the command `ip`."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = "10.231.9.1"  # where those in the namespaces find this side


class NoNamespacesError(Exception):
    """They cannot be made here; says why."""


class Cable:
    """From here to a namespace of the same name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def inside(self) -> list[str]:
        """What a command begins with that runs there."""
        return ["ip", "netns", "exec", self.name]

    def cut(self) -> None:
        ip("link", "set", self.name, "down")

    def mend(self) -> None:
        ip("link", "set", self.name, "up")


@contextlib.contextmanager
def cables(count: int) -> Iterator[list[Cable]]:
    """So many namespaces, which find one another, and this side at `HERE`. Raises `NoNamespacesError`."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        raise NoNamespacesError("network namespaces need the command ip, and root")
    bridge = f"rx{os.getpid()}"
    made: list[tuple[str, ...]] = []
    try:
        ip("link", "add", bridge, "type", "bridge")
        made.append(("link", "del", bridge))
        ip("addr", "add", f"{HERE}/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        found = []
        for n in range(count):
            name = f"{bridge}-{n}"
            ip("netns", "add", name)
            made.append(("netns", "del", name))
            ip("link", "add", name, "type", "veth", "peer", "name", "far", "netns", name)
            ip("link", "set", name, "master", bridge, "up")
            ip("-n", name, "addr", "add", f"10.231.9.{n + 2}/24", "dev", "far")
            ip("-n", name, "link", "set", "far", "up")
            ip("-n", name, "link", "set", "lo", "up")
            found.append(Cable(name))
        yield found
    except subprocess.CalledProcessError as error:
        raise NoNamespacesError(f"no network namespaces here: {error.stderr.decode().strip()}") from None
    finally:
        for words in reversed(made):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(*words)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
