"""Rounds of training as reactors: who acts, what experience becomes, and the whole graph, `Training`.

A round of steps is one value on a port here; reactors of single steps are `rl.Env` and `rl.Replay`, and both are made
of the same parts, which lie in `envs` and `replay`. Nothing here says how an algorithm learns (`learning`), looks at a
run (`monitoring`), or has files (`runs`). Own programs of training take its pieces from here.
"""

from reactors.rl.dataflow.acting import Acting
from reactors.rl.dataflow.actor import Actor
from reactors.rl.dataflow.experience import Experience
from reactors.rl.dataflow.rollout import Rollout
from reactors.rl.learning.learner import ReplayLearner, RolloutLearner
from reactors.rl.monitoring.evaluator import Evaluator
from reactors.rl.rounds import ROUND

__all__ = ["ROUND", "Acting", "Actor", "Evaluator", "Experience", "ReplayLearner", "Rollout", "RolloutLearner"]
