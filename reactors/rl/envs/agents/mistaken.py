"""What is said of an environment with many agents where one with a single agent is wanted, or the other way round?"""

from __future__ import annotations

from typing import Any

from reactors.errors import ParameterError

_ROWS = ("rl.VectorEnv", "rl.sb3.VecEnv")


def of_many(what: str, path: str) -> ParameterError:
    """An environment has many agents, and `path` takes those with a single one.

    >>> str(of_many("'mpe2:simple_spread_v3'", "rl.VectorEnv"))
    "rl.VectorEnv: 'mpe2:simple_spread_v3' has many agents, and one is wanted; rl.MultiAgentVectorEnv steps rows of it"
    """
    remedy = "rl.MultiAgentEnv is the reactor for it"
    if path in _ROWS:
        remedy = "rl.MultiAgentVectorEnv steps rows of it"
    elif path.startswith(("rl.", "--")):  # what trains
        remedy = "take rl.IPPO, or another algorithm for many agents"
    return ParameterError(f"{path}: {what} has many agents, and one is wanted; {remedy}")


def of_one(what: str, path: str) -> ParameterError:
    """An environment has a single agent, and `path` takes those with many."""
    remedy = "take rl.PPO, or another algorithm for one, or give a PettingZoo environment"
    if path == "rl.MultiAgentVectorEnv":
        remedy = "rl.VectorEnv steps rows of it"
    return ParameterError(f"{path}: {what} has a single agent, and many are wanted; {remedy}")


def check_single(env: Any, path: str) -> None:
    """Refuse an environment that was made and has many agents."""
    if hasattr(env, "possible_agents") or hasattr(env, "agent_iter"):
        if hasattr(env, "close"):
            env.close()
        raise of_many(f"the {type(env).__name__} that its function makes", path)
