"""Reactors for reinforcement learning: environments, replay, algorithms, training and serving.

`import reactors` does not import this package, and this package imports nothing until you use a name: then Gymnasium,
torch where tensors are needed, and Stable-Baselines3 for `rl.sb3`.

A map of the rooms, the lowest first; none imports from one above it (`lint-imports`, the rule is in pyproject.toml):

- episode, errors, synonyms, bounded, rounds  common terms
- public        messages for wrong calls of public names
- options       the options of a training, every option once
- opponents     opponents for many agents: `rl.Past`
- encoding      values as files that others can read
- replay        rows of experience: `rl.Replay`, `rl.ReplayBuffer`
- envs          environments: `rl.Env` and similar reactors
- networks      networks, and how their weights are sent
- checkpoints   how a running program writes one consistent state to disk
- contract      what the dataflow needs of an algorithm, and the checks of it
- estimates     returns and advantages from a batch
- algorithms    one file each; they do not know the dataflow, workers or files
- serving       a policy that answers requests: `rl.Server`
- learning      learners as reactors
- monitoring    observes training without changing it
- dataflow      rounds of training as reactors
- runs          a run from one call, and its folder: `rl.train`, `rl.load`, `rl.serve`
- tuning        the best use of the machine: `rl.tune`
- vector        vector environments, for loops: `rl.VectorEnv`, `rl.MultiAgentVectorEnv`
- trajectories  what was played, as a Minari dataset
- learned_by_hand  some rounds of an algorithm, examined step by step
- record, sb3, algorithm_checker  built on all of these

The docstring of a room says what it does not know. Reactors themselves, ports, time and workers are not defined here:
this package uses only those parts of `reactors` that its users can use (tests/test_house.py), and what it lacks there
is in `reactors.lowlevel`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactors.rl import record as record
    from reactors.rl import sb3 as sb3
    from reactors.rl.algorithm_checker import CheckedAlgorithm, check_algorithm
    from reactors.rl.algorithms.a2c import A2C
    from reactors.rl.algorithms.agents.idqn import IDQN
    from reactors.rl.algorithms.agents.ippo import IPPO
    from reactors.rl.algorithms.agents.isac import ISAC
    from reactors.rl.algorithms.agents.mappo import MAPPO
    from reactors.rl.algorithms.agents.qmix import QMIX
    from reactors.rl.algorithms.agents.vdn import VDN
    from reactors.rl.algorithms.appo import APPO
    from reactors.rl.algorithms.ddpg import DDPG
    from reactors.rl.algorithms.dqn import DQN
    from reactors.rl.algorithms.impala import IMPALA
    from reactors.rl.algorithms.ppo import PPO
    from reactors.rl.algorithms.q_learning import QLearning
    from reactors.rl.algorithms.sac import SAC
    from reactors.rl.algorithms.td3 import TD3
    from reactors.rl.contract.algorithm import Algorithm, Learning, Policy
    from reactors.rl.contract.presets.tables import presets
    from reactors.rl.contract.recurrent import RecurrentPolicy
    from reactors.rl.envs.batched import BatchedEnv
    from reactors.rl.envs.checker import check_env
    from reactors.rl.envs.env import Env
    from reactors.rl.envs.games.atari import atari
    from reactors.rl.envs.games.minatar import minatar
    from reactors.rl.envs.multi_agent_env import MultiAgentEnv
    from reactors.rl.episode import Episode
    from reactors.rl.errors import NotFiniteError, NotServingError, SimulationError
    from reactors.rl.monitoring.evaluation import Evaluation
    from reactors.rl.monitoring.scores import Score, Scores
    from reactors.rl.networks.policies import Policies
    from reactors.rl.networks.seeded import Seeded
    from reactors.rl.opponents import Past
    from reactors.rl.options import Bounds
    from reactors.rl.replay.batch import Batch, batch_dtype, batch_tensors
    from reactors.rl.replay.buffer import BufferStatistics, ReplayBuffer
    from reactors.rl.replay.replay import Replay
    from reactors.rl.replay.sum_tree import SumTree, SumTreeError
    from reactors.rl.replay.transition import space_dtype, transition_dtype
    from reactors.rl.runs.past_policies import PastPolicy
    from reactors.rl.runs.serve import serve
    from reactors.rl.runs.train import Trained, train
    from reactors.rl.runs.trained_policy import TrainedPolicy, load
    from reactors.rl.serving.server import Server
    from reactors.rl.tuning.tuning import Tuned, tune
    from reactors.rl.vector.multi_agent_vector_env import MultiAgentVectorEnv
    from reactors.rl.vector.vector_env import VectorEnv

__all__ = [
    "A2C",
    "APPO",
    "DDPG",
    "DQN",
    "IDQN",
    "IMPALA",
    "IPPO",
    "ISAC",
    "MAPPO",
    "PPO",
    "QMIX",
    "SAC",
    "TD3",
    "VDN",
    "Algorithm",
    "Batch",
    "BatchedEnv",
    "Bounds",
    "BufferStatistics",
    "CheckedAlgorithm",
    "Env",
    "Episode",
    "Evaluation",
    "Learning",
    "MultiAgentEnv",
    "MultiAgentVectorEnv",
    "NotFiniteError",
    "NotServingError",
    "Past",
    "PastPolicy",
    "Policies",
    "Policy",
    "QLearning",
    "RecurrentPolicy",
    "Replay",
    "ReplayBuffer",
    "Score",
    "Scores",
    "Seeded",
    "Server",
    "SimulationError",
    "SumTree",
    "SumTreeError",
    "Trained",
    "TrainedPolicy",
    "Tuned",
    "VectorEnv",
    "atari",
    "batch_dtype",
    "batch_tensors",
    "check_algorithm",
    "check_env",
    "load",
    "minatar",
    "presets",
    "record",
    "serve",
    "space_dtype",
    "train",
    "transition_dtype",
    "tune",
]

_ROOMS = {
    "algorithm_checker": ("CheckedAlgorithm", "check_algorithm"),
    "algorithms.a2c": ("A2C",),
    "algorithms.agents.idqn": ("IDQN",),
    "algorithms.agents.ippo": ("IPPO",),
    "algorithms.agents.isac": ("ISAC",),
    "algorithms.agents.mappo": ("MAPPO",),
    "algorithms.agents.qmix": ("QMIX",),
    "algorithms.agents.vdn": ("VDN",),
    "algorithms.appo": ("APPO",),
    "algorithms.ddpg": ("DDPG",),
    "algorithms.dqn": ("DQN",),
    "algorithms.impala": ("IMPALA",),
    "algorithms.ppo": ("PPO",),
    "algorithms.q_learning": ("QLearning",),
    "algorithms.sac": ("SAC",),
    "algorithms.td3": ("TD3",),
    "contract.algorithm": ("Algorithm", "Learning", "Policy"),
    "contract.presets.tables": ("presets",),
    "contract.recurrent": ("RecurrentPolicy",),
    "envs.games.atari": ("atari",),
    "envs.batched": ("BatchedEnv",),
    "envs.checker": ("check_env",),
    "envs.env": ("Env",),
    "envs.games.minatar": ("minatar",),
    "envs.multi_agent_env": ("MultiAgentEnv",),
    "episode": ("Episode",),
    "errors": ("NotFiniteError", "NotServingError", "SimulationError"),
    "monitoring.evaluation": ("Evaluation",),
    "monitoring.scores": ("Score", "Scores"),
    "networks.policies": ("Policies",),
    "networks.seeded": ("Seeded",),
    "opponents": ("Past",),
    "options": ("Bounds",),
    "replay.batch": ("Batch", "batch_dtype", "batch_tensors"),
    "replay.buffer": ("BufferStatistics", "ReplayBuffer"),
    "replay.replay": ("Replay",),
    "replay.sum_tree": ("SumTree", "SumTreeError"),
    "replay.transition": ("space_dtype", "transition_dtype"),
    "runs.past_policies": ("PastPolicy",),
    "runs.serve": ("serve",),
    "runs.train": ("Trained", "train"),
    "runs.trained_policy": ("TrainedPolicy", "load"),
    "serving.server": ("Server",),
    "tuning.tuning": ("Tuned", "tune"),
    "vector.multi_agent_vector_env": ("MultiAgentVectorEnv",),
    "vector.vector_env": ("VectorEnv",),
}
_PLACE = {name: room for room, its in _ROOMS.items() for name in its}


if not TYPE_CHECKING:  # type checkers would take `__getattr__` to mean that every name exists

    def __dir__() -> list[str]:
        return sorted([*__all__, "sb3"])

    def __getattr__(name: str) -> Any:
        """What is imported when it is asked for."""
        if name in {"record", "sb3"}:
            return import_module(f"{__name__}.{name}")
        if name not in _PLACE:
            from reactors.lowlevel import refuse

            return refuse(globals(), name, __dir__())
        try:
            module = import_module(f"{__name__}.{_PLACE[name]}")
        except ModuleNotFoundError as error:
            from reactors.errors import missing

            raise missing(error) or error from None
        found = globals()[name] = getattr(module, name)
        return found
