"""Reactors for reinforcement learning: environments, replay, and what is made of them.

`import reactors` does not import this package, and this package imports torch only where tensors are asked for.
"""

from reactors.rl.batch import Batch
from reactors.rl.replay import Replay, batch_dtype, batch_tensors
from reactors.rl.replay_buffer import BufferStatistics, ReplayBuffer
from reactors.rl.sum_tree import SumTree, SumTreeError
from reactors.rl.transition import space_dtype, transition_dtype

__all__ = [
    "Batch",
    "BufferStatistics",
    "Replay",
    "ReplayBuffer",
    "SumTree",
    "SumTreeError",
    "batch_dtype",
    "batch_tensors",
    "space_dtype",
    "transition_dtype",
]
