"""The arrays of a model in which two reactors share what one reaction does, half each.

Both read the same and run at the same tags; who reads what the reaction wrote reads from both. The second one comes
right behind the first, so that executions stay in the order of tag and rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def shared(arrays: dict[str, NDArray[Any]], reaction: int) -> dict[str, NDArray[Any]]:
    """Those of a model (model.py) of which a reaction gets a second, with the next number; costs apart.

    >>> one = {"reaction": np.array([0, 1]), "first_edge": np.array([0, 0, 1]), "source": np.array([0])}
    >>> none = {"first_read": np.array([0, 0, 1]), "writer": np.array([0]), "delay": np.array([[0, 0]])}
    >>> two = shared(one | none, 0)
    >>> two["reaction"], two["source"], two["writer"]
    (array([0, 1, 2]), array([0, 1]), array([0, 1]))
    """
    mine = arrays["reaction"] == reaction
    of_reactions = np.arange(len(arrays["first_read"]) - 1) == reaction
    row = np.repeat(np.arange(len(mine)), 1 + mine)
    found: dict[str, NDArray[Any]] = {}
    for name in ("time", "microstep", "present", "earliest"):
        if name in arrays:
            found[name] = arrays[name][row]
    number = arrays["reaction"] + (arrays["reaction"] > reaction)
    found["reaction"] = number[row]
    found["reaction"][_first(mine)[mine] + 1] = reaction + 1
    found["first_edge"], found["source"], _ = _doubled(arrays["first_edge"], arrays["source"], mine)
    first, writer, which = _doubled(arrays["first_read"], arrays["writer"], of_reactions)
    return found | {"first_read": first, "writer": writer, "delay": arrays["delay"][which]}


def _first(mine: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where each lies, once there are two of those that are mine."""
    return np.arange(len(mine)) + np.cumsum(mine) - mine


def _doubled(
    first: NDArray[Any], source: NDArray[Any], mine: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Edges by target, the first of each and the sources, from and to both of two; and which edge each was."""
    target = np.repeat(np.arange(len(mine)), first[1:].astype(np.int64) - first[:-1].astype(np.int64))
    edge, at = np.arange(len(source)), _first(mine)
    sources, targets, edges = [at[source]], [at[target]], [edge]
    for i, j in ((1, 0), (0, 1), (1, 1)):
        there = (mine[source] | (i == 0)) & (mine[target] | (j == 0))
        sources.append(at[source[there]] + i)
        targets.append(at[target[there]] + j)
        edges.append(edge[there])
    order = np.argsort(np.concatenate(targets), kind="stable")
    to = np.concatenate(targets)[order]
    begins = np.searchsorted(to, np.arange(len(mine) + mine.sum() + 1))
    return begins.astype(first.dtype), np.concatenate(sources)[order].astype(source.dtype), np.concatenate(edges)[order]
