"""Where other projects document what our signatures and docstrings name.

Sphinx would fetch each project's whole inventory at every build. These few names are all that is needed; a build
without a network makes the same links.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# address: {role: {page: names}}; "$" in a page stands for the name.
PROJECTS: dict[str, tuple[str, dict[str, dict[str, str]]]] = {
    "python": (
        "https://docs.python.org/3/",
        {
            "class": {
                "library/functions.html#$": "bool float int bytes object type",
                "library/stdtypes.html#$": "str list dict tuple set frozenset",
                "library/constants.html#$": "None",
                "library/typing.html#$": "typing.Any typing.Literal typing.TypeVar typing.NamedTuple",
                "library/collections.abc.html#$": (
                    "collections.abc.Callable collections.abc.Iterable collections.abc.Iterator "
                    "collections.abc.Mapping collections.abc.Sequence"
                ),
                "library/concurrent.futures.html#$": "concurrent.futures.Future",
                "library/os.html#$": "os.PathLike",
                "library/pathlib.html#$": "pathlib.Path",
                "library/logging.html#$": "logging.Logger logging.Handler",
            },
            "exception": {
                "library/exceptions.html#$": "KeyboardInterrupt TypeError ValueError RuntimeError UserWarning"
            },
            "function": {"library/asyncio-future.html#$": "asyncio.wrap_future"},
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        {
            "class": {
                "reference/generated/$.html#$": "numpy.ndarray numpy.dtype",
                "reference/arrays.scalars.html#$": "numpy.generic numpy.float32 numpy.float64 numpy.int64 numpy.bool_",
                "reference/random/generator.html#$": "numpy.random.Generator",
            },
            "data": {"reference/typing.html#$": "numpy.typing.NDArray numpy.typing.ArrayLike numpy.typing.DTypeLike"},
        },
    ),
    "torch": (
        "https://docs.pytorch.org/docs/stable/",
        {
            "class": {"tensors.html#$": "torch.Tensor", "generated/$.html#$": "torch.nn.Module torch.optim.Optimizer"},
            "function": {"generated/$.html#$": "torch.set_num_threads"},
        },
    ),
    "gymnasium": (
        "https://gymnasium.farama.org/",
        {
            "class": {
                "api/env/#$": "gymnasium.Env",
                "api/spaces/#$": "gymnasium.spaces.Space",
                "api/spaces/fundamental/#$": "gymnasium.spaces.Box gymnasium.spaces.Discrete",
                "api/vector/#$": "gymnasium.vector.VectorEnv",
                "api/vector/async_vector_env/#$": "gymnasium.vector.AsyncVectorEnv",
                "api/vector/sync_vector_env/#$": "gymnasium.vector.SyncVectorEnv",
            },
            "function": {"api/registry/#$": "gymnasium.make gymnasium.make_vec"},
        },
    ),
}


def written(folder: Path) -> dict[str, tuple[str, str]]:
    """Write each project's inventory, in Sphinx's form, and return what `intersphinx_mapping` wants."""
    folder.mkdir(parents=True, exist_ok=True)
    for project, (_, roles) in PROJECTS.items():
        lines = [
            f"{name} py:{role} 1 {page.replace('$', name)} -\n"
            for role, pages in roles.items()
            for page, names in pages.items()
            for name in names.split()
        ]
        head = (
            f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n# The remainder is compressed by zlib.\n"
        )
        (folder / f"{project}.inv").write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
    return {project: (address, str(folder / f"{project}.inv")) for project, (address, _) in PROJECTS.items()}
