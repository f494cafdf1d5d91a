"""Reactors for reinforcement learning: environments, replay, and what is made of them.

`import reactors` does not import this package, and this package imports torch only where tensors are asked for.
"""

from reactors.rl import record
from reactors.rl.batched import BatchedEnv
from reactors.rl.env import Env
from reactors.rl.episode import Episode
from reactors.rl.errors import SimulationError
from reactors.rl.multi_agent_env import MultiAgentEnv
from reactors.rl.transition import space_dtype, transition_dtype
from reactors.rl.vector_env import VectorEnv

__all__ = [
    "BatchedEnv",
    "Env",
    "Episode",
    "MultiAgentEnv",
    "SimulationError",
    "VectorEnv",
    "record",
    "space_dtype",
    "transition_dtype",
]
