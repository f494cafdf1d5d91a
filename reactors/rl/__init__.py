"""Reactors for reinforcement learning: environments, replay, and what is made of them.

`import reactors` does not import this package, and this package imports torch only where tensors are asked for.
"""

from reactors.rl import record
from reactors.rl.batch import Batch
from reactors.rl.batched import BatchedEnv
from reactors.rl.env import Env
from reactors.rl.episode import Episode
from reactors.rl.errors import SimulationError
from reactors.rl.multi_agent_env import MultiAgentEnv
from reactors.rl.replay import Replay, batch_dtype, batch_tensors
from reactors.rl.replay_buffer import BufferStatistics, ReplayBuffer
from reactors.rl.sum_tree import SumTree, SumTreeError
from reactors.rl.transition import space_dtype, transition_dtype
from reactors.rl.vector_env import VectorEnv

__all__ = [
    "Batch",
    "BatchedEnv",
    "BufferStatistics",
    "Env",
    "Episode",
    "MultiAgentEnv",
    "Replay",
    "ReplayBuffer",
    "SimulationError",
    "SumTree",
    "SumTreeError",
    "VectorEnv",
    "batch_dtype",
    "batch_tensors",
    "record",
    "space_dtype",
    "transition_dtype",
]
