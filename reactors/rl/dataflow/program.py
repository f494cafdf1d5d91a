"""How are simulation, replay, learning and evaluation one graph?

Every minute of logical time is a round. At its beginning all actors play, with the weights that they have; at the
same tag the learner gets what they played, and its new weights reach them `lag` rounds later. That delay is all that
makes the modes:

- `sync`: a lag of one round. Learners and actors all have the latest; they take turns.
- `pipelined`: a lag of two or more. Actors play the next round while the learner learns from the last one, and the
  result is the same, bit for bit, however fast they are.
- `free`: actors take the newest weights, from memory that all share, and put what is kept into another, from which the
  learner draws. No actor waits for weights, nor the learner while updates are due; no two runs are alike.

Actors have policies of their own. With central inference an `InferenceServer` has the only one, and `Simulator`s step
the environments; a step is a microstep, and to all others it is as if there were actors.

Several learners exchange gradients, or weights, in the microsteps of a tag of their own, a little after the round's
beginning: in microsteps of the tag at which actors play, and experience is drawn, each would wait for all of that. The
journal gets all of a round at one tag after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import reactors as rx
from reactors.errors import ArgumentError
from reactors.rl.algorithms.off_policy import OffPolicy, memory_of
from reactors.rl.checkpoints.checkpoint import Checkpoint
from reactors.rl.checkpoints.files import going_on
from reactors.rl.contract.conformance import check_learning, check_policy
from reactors.rl.dataflow.acting import Acting
from reactors.rl.dataflow.actor import Actor
from reactors.rl.dataflow.experience import Experience
from reactors.rl.dataflow.free_actor import FreeActor
from reactors.rl.dataflow.inference_server import InferenceServer, choice_dtype
from reactors.rl.dataflow.rollout import Rollout
from reactors.rl.dataflow.simulator import Simulator
from reactors.rl.learning.adaptation import Adaptation, Follower
from reactors.rl.learning.free_halves import FreeHalfLearner
from reactors.rl.learning.free_learner import FreeLearner
from reactors.rl.learning.latest import Latest
from reactors.rl.learning.learner import Exchange, Learner, ReplayLearner, RolloutLearner
from reactors.rl.learning.learners import Learners
from reactors.rl.learning.loader import LoadedLearner, Loader, check_loaders
from reactors.rl.learning.pace import Played
from reactors.rl.learning.split_learner import ACTOR, CRITICS, HalfLearner, exchange_of
from reactors.rl.monitoring.decimator import Decimator
from reactors.rl.monitoring.evaluator import Evaluator
from reactors.rl.monitoring.journal import Journal
from reactors.rl.monitoring.viewer import Viewer
from reactors.rl.rounds import LATER, ROUND, STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from reactors.rl.checkpoints.checkpoint import Saving
    from reactors.rl.checkpoints.files import Saved
    from reactors.rl.checkpoints.stateful import Stateful
    from reactors.rl.contract.algorithm import Algorithm, Learning
    from reactors.rl.options import Mode, Options, Serves
    from reactors.rl.replay.buffer import ReplayBuffer

ALONE = Learners()
LEAD = 8  # rounds by which free-running actors may be ahead of the learner


class Training(rx.Reactor):
    """An algorithm, trained by actors in environments that `maker` makes, as the options say.

    With central inference they are simulators, and one policy acts for all. With `saving` there are checkpoints, and
    with `saved` it goes on from one.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        maker: Callable[[], Any],
        observation_space: Any,
        action_space: Any,
        options: Options,
        *,
        learners: Learners = ALONE,
        journal: Path | None = None,
        views: Path | None = None,
        saving: Saving | None = None,
        saved: Saved | None = None,
    ) -> None:
        check_loaders(algorithm, options.loaders)
        actors, lag, seed, serve = options.actors, options.late, options.seed, options.serve
        parts = 2 if options.double_buffer else 1
        each_plays = per_actor(algorithm, actors, parts)
        spaces = observation_space, action_space
        learning = algorithm.learning(*spaces, seed, learners.devices[0])
        initial = check_learning(algorithm, learning)
        check_policy(algorithm, *spaces, learning, initial, each_plays)
        steps = algorithm.horizon * algorithm.num_envs
        self.free = options.mode == "free"
        newest = Latest(len(initial)) if self.free else None
        self.adapts = learners.adaptation is not None
        played = Played(actors) if self.adapts else None
        self.memory: ReplayBuffer | None = None  # that actors fill while learners draw from it

        def rollout(i: int) -> Rollout:
            return Rollout(algorithm, [maker] * each_plays, i * each_plays, *spaces, parts, options.on_error)

        def acting(_: int) -> Acting:
            return Acting(algorithm, *spaces, initial, lag=lag, newest=newest)

        stepping: rx.Bank[Any]
        players: list[Actor | InferenceServer]
        if options.inference == "central":
            server = InferenceServer(
                acting(0), observation_space, choice_dtype(algorithm, action_space), algorithm.horizon, actors,
                each_plays, parts,
            )  # fmt: skip
            stepping, players = self._serve(server, rollout), [server]
        else:
            if self.free and isinstance(algorithm, OffPolicy):
                self.memory, clip = memory_of(algorithm, *spaces), algorithm.reward_clip
                stepping = rx.bank(
                    actors, FreeActor, rollout, acting, memory=self.memory, learners=len(learners), reward_clip=clip,
                    stretch=algorithm.stretch, played=played,
                )  # fmt: skip
            else:
                stepping = self._actors(actors, rollout, acting)
            self.actors, players = stepping, [*stepping]
        self.journal = Journal(
            actors, len(players), steps, learners=len(learners), capacity=getattr(algorithm, "capacity", 0),
            stop_at=options.stop_at, stop_after=options.slack * ROUND + STOP, file=journal, tell=options.tell,
        )  # fmt: skip
        arguments: dict[str, Any] = {
            "algorithm": algorithm, "observation_space": observation_space, "action_space": action_space, "seed": seed,
            "size": len(initial), "device": lambda i: learners.devices[i], "lag": lag, "newest": newest,
            "parts": learners.parts,
        }  # fmt: skip
        if played is not None:
            arguments["played"] = played
        apart = self.memory is not None and learners.exchange_every is not None  # neither waits for the other
        later = LATER if len(learners) > 1 and not apart else 0
        then, noted = (later, 2 * later) if later else (None, None)
        self._learn(algorithm, arguments, learning, learners, stepping, options.loaders, then)
        first: Learner = self.learners[0]
        if not self.free:
            rx.connect(first.weights, [each.weights for each in players], after=lag * ROUND - later, broadcast=True)
        rx.connect(stepping.episodes, self.journal.episodes, after=noted)
        rx.connect([each.figures for each in players], self.journal.times, after=noted)
        rx.connect(self.learners.figures, self.journal.figures, after=then)
        noted_later = max(1, (options.eval_every or 0) // 2) * ROUND if self.free else 0
        self._look_on(
            algorithm,
            maker,
            spaces,
            options,
            views,
            first.weights,
            len(initial),
            after=(then or 0) + noted_later or None,
        )
        if serve is not None:
            self._answer(serve, initial if saved is None else saved.weights(len(initial)), first.weights)
        if saved is not None:
            self._go_on(saved)
        if saving is not None:
            self._save(saving, options.slack, steps)

    def _serve(self, server: InferenceServer, rollout: Callable[[int], Rollout]) -> rx.Bank[Simulator]:
        self.server = server
        remembers = server.acting.remembers
        told = (server.ended.dtype,) if remembers else ()
        self.simulators = rx.bank(len(server.choices), Simulator, rollout, server.choices.dtype, *told)
        if remembers:
            rx.connect(self.simulators.ended, server.ended, after=0)
            rx.connect(self.simulators.begun, server.begun)
        rx.connect(self.simulators.initial, server.initial)
        rx.connect(self.simulators.observations, server.observations, after=0)
        rx.connect(server.choices, self.simulators.choices, after=0 if server.parts == 2 else None)
        return self.simulators

    def _actors(self, n: int, rollout: Callable[[int], Rollout], acting: Callable[[int], Acting]) -> rx.Bank[Actor]:
        """The actors, as a bank; a subclass may take others."""
        return rx.bank(n, Actor, rollout, acting)

    def _learn(
        self,
        algorithm: Algorithm,
        arguments: dict[str, Any],
        learning: Learning,
        learners: Learners,
        stepping: rx.Bank[Any],
        loaders: int,
        then: int | None,
    ) -> None:
        """Replay or loaders, and learners, which all get these `arguments`, and experience by `then`."""
        each: Any = {**arguments, "exchange": lambda i: _exchange(algorithm, learning, learners, i)}
        self.learners: rx.Bank[Any]
        each_plays = algorithm.num_envs // len(stepping)
        if self.memory is not None:
            each |= {"memory": self.memory, "actors": len(stepping)}
            self._learn_freely(each, learning, learners, stepping, then)
            return
        if loaders:
            self.learners = rx.bank(len(learners), LoadedLearner, **each, loaders=loaders)
            self._load(loaders, stepping, then)
        elif algorithm.on_policy:
            self.learners = rx.bank(len(learners), RolloutLearner, **each, actors=len(stepping), num_envs=each_plays)
            rx.connect(stepping.segment, self.learners.segments, after=then, broadcast=True)
        else:
            spaces = arguments["observation_space"], arguments["action_space"]
            self.experience = Experience(algorithm, *spaces, len(stepping), learners.parts)  # type: ignore[arg-type]
            each["batches"] = self.experience.batches
            if learners.exchange_every is None:
                self.learners = rx.bank(len(learners), ReplayLearner, **each)
            else:
                self.learners = rx.bank(2, HalfLearner, **each, exchange_every=learners.exchange_every)
            rx.connect(stepping.segment, self.experience.segments)
            rx.connect(self.experience.batches, self.learners.batches, after=then, broadcast=True)
            if self.experience.algorithm.prioritized:
                know = self.learners if learners.exchange_every is None else [self.learners[CRITICS]]
                rx.connect([learner.errors for learner in know], self.experience.errors, after=0)
        if learners.exchange_every is not None:
            rx.connect(self.learners[ACTOR].offered, self.learners[CRITICS].received, after=0)
            rx.connect(self.learners[CRITICS].offered, self.learners[ACTOR].received, after=0)
        elif len(learners) > 1:
            rx.connect(self.learners.offered, self.learners.received, after=0, broadcast=True)

    def _learn_freely(
        self, each: dict[str, Any], learning: Learning, learners: Learners, stepping: rx.Bank[Any], then: int | None
    ) -> None:
        """Learners that draw from the memory, or an actor's and its critics', each at its own pace."""
        if learners.exchange_every is None:
            self.learners = rx.bank(len(learners), FreeLearner, **each, adaptation=learners.adaptation)
            if len(learners) > 1:
                rx.connect(self.learners.offered, self.learners.received, after=0, broadcast=True)
        else:
            rows = (*(Latest(exchange_of(learning, i).offered) for i in (ACTOR, CRITICS)),)  # type: ignore[arg-type]
            adaptation = learners.adaptation
            who = (None if adaptation is None else Follower.of(adaptation)), adaptation
            each |= {"adaptation": lambda i: who[i], "exchange": None}
            self.learners = rx.bank(2, FreeHalfLearner, **each, exchange_every=learners.exchange_every, rows=rows)
        rx.connect(stepping.kept, self.learners.kept, after=then, broadcast=True)
        rx.connect(self.learners.learned_rounds, stepping.learned, after=LEAD * ROUND - (then or 0), broadcast=True)

    def _load(self, loaders: int, stepping: rx.Bank[Any], then: int | None) -> None:
        dtype, (horizon, num_envs) = stepping[0].segment.dtype, stepping[0].segment.shape
        self.loaders = rx.bank(loaders, Loader, dtype, horizon, num_envs, len(stepping), loaders)
        rx.connect(stepping.segment, self.loaders.segments, broadcast=True)
        for port in self.learners[0].ports:
            rx.connect(getattr(self.loaders, port), getattr(self.learners, port), after=then, broadcast=True)

    def _look_on(
        self,
        algorithm: Algorithm,
        maker: Callable[[], Any],
        spaces: tuple[Any, Any],
        options: Options,
        views: Path | None,
        weights: Any,
        size: int,
        after: int | None = None,
    ) -> None:
        """Evaluation and views by these `weights`, that many of them."""
        if options.eval_every is not None:
            self.evaluator = Evaluator(
                algorithm, maker, *spaces, size, episodes=options.eval_episodes,
                opposed=options.opponents is not None, return_of=options.return_of,
            )  # fmt: skip
            self.to_evaluate = Decimator(size, options.eval_every)
            rx.connect(weights, self.to_evaluate.weights)
            rx.connect(self.to_evaluate.some, self.evaluator.weights)
            rx.connect(self.evaluator.evaluation, self.journal.evaluation, after=after)
        if options.view_every is not None and views is not None:
            steps = algorithm.horizon * algorithm.num_envs
            self.viewer = Viewer(algorithm, maker, *spaces, size, steps=steps, folder=views)
            self.to_show = Decimator(size, options.view_every, before=1)
            rx.connect(weights, self.to_show.weights)
            rx.connect(self.to_show.some, self.viewer.weights)

    def _answer(self, server: Serves, initial: NDArray[np.float32], weights: Any) -> None:
        self.serving: Any = server
        server.policy.load(initial)
        rx.connect(weights, self.serving.weights)

    def _stateful(self) -> dict[str, Stateful]:
        found: dict[str, Stateful] = {}
        for name in ("actors", "simulators", "learners"):
            found |= {f"{name}[{i}]": each for i, each in enumerate(getattr(self, name, ()))}
        for name in ("server", "journal", "experience"):
            found |= {name: getattr(self, name)} if hasattr(self, name) else {}
        return found

    def _ports_to_save(self) -> tuple[list[Any], list[Any]]:
        """By which they are asked for their states, and which have them, in the order of `_stateful`."""
        lasting = self._stateful().values()
        return [each.save for each in lasting], [each.state for each in lasting]

    @property
    def whose_weights(self) -> list[str]:
        """The names of those whose weights, one behind the other, act."""
        return ["learners[0]"]

    def final_weights(self) -> NDArray[np.float32]:
        """What acts, when the run is over."""
        found: NDArray[np.float32] = self.learners[0].learning.weights()
        return found

    @property
    def memories(self) -> list[ReplayBuffer]:
        """Buffers whose memory goes when the run is over."""
        return [self.experience.buffer] if hasattr(self, "experience") else []

    def learner_paths(self) -> list[list[str]]:
        """Of each learner, and what is on its worker."""
        return [[f"main.learners[{i}]"] for i in range(len(self.learners))]

    @property
    def beside(self) -> list[str]:
        """Who has a worker more."""
        names = ("viewer", "serving", *(("evaluator",) if self.free else ()), *(("journal",) if self.adapts else ()))
        return [name for name in names if hasattr(self, name)]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """What `adapt` has changed while the program ran, and why."""
        found = [each.adaptation for each in self.learners if isinstance(each, FreeLearner)]
        return [decision for each in found if isinstance(each, Adaptation) for decision in each.decisions]

    def _go_on(self, saved: Saved) -> None:
        first = saved.next_round * ROUND
        if self.memory is not None:  # before any actor writes
            with going_on(saved.path, "the state of learners[0]"):
                self.memory.load_state_dict(saved.states["learners[0]"]["buffer"])
        broken_off = self._broken_off(saved)
        for name, reactor in self._stateful().items():
            with going_on(saved.path, f"the state of {name}"):
                reactor.restored = saved.states[name]
            reactor.checkpoint, reactor.first, reactor.broken_off = saved.path, first, broken_off
        for name in ("to_evaluate", "to_show"):
            if hasattr(self, name):
                getattr(self, name).first = first

    def _broken_off(self, saved: Saved) -> NDArray[np.bool_] | None:
        """Which environments did not tell their state, if there are any."""
        found = []
        for name, reactor in self._stateful().items():
            if (rollout := getattr(reactor, "rollout", None)) is not None:
                with going_on(saved.path, f"the state of {name}"):
                    found.append(rollout.broken_off(saved.states[name]))
        every = np.concatenate(found)
        return every if every.any() else None

    def _save(self, saving: Saving, slack: int, steps: int) -> None:
        reactors, first = self._stateful(), self.journal.first // ROUND
        slack = max(0, min(slack, saving.rounds - 1 - first))  # of a short run, too, the last round is saved
        saves, states = self._ports_to_save()
        self.checkpoint = Checkpoint(
            [*reactors], self.whose_weights, saving, slack=slack, steps=steps, first=self.journal.first
        )
        rx.connect(states, self.checkpoint.states)
        rx.connect(self.checkpoint.save, saves, after=slack * ROUND, broadcast=True)
        rx.connect(self.journal.enough, self.checkpoint.enough)


def _exchange(algorithm: Algorithm, learning: Learning, learners: Learners, index: int) -> Exchange | None:
    """What a learner gives to others."""
    if learners.exchange_every is not None:
        return exchange_of(learning, index)  # type: ignore[arg-type]
    if len(learners) == 1:
        return None
    if not learning.flats:
        raise ArgumentError(
            f"{len(learners)} learners of rl.train, but {algorithm.name} has no gradients to take the mean of; leave "
            "learners out"
        )
    size = max(len(flat.weights) for flat in learning.flats)
    return Exchange(offered=size, received=size, width=len(learners))


def per_actor(algorithm: Algorithm, actors: int, parts: int) -> int:
    """Environments of an actor, which plays in so many parts."""
    if algorithm.num_envs % (parts * actors):
        raise ArgumentError(
            f"{algorithm.num_envs} environments for {actors} actors{', in two halves each' * (parts == 2)}; let "
            f"num_envs of {algorithm.name} be a multiple of {'twice their number' if parts == 2 else 'actors'}, or "
            "choose another number of them: actors="
        )
    return algorithm.num_envs // actors


def placement(training: Training, workers: int, mode: Mode) -> dict[str, int]:
    """Which worker runs what: in lock-step all of them play, else the first ones learn and the others play.

    Learners are on different workers as far as there are any; where there are no others, those play, too. An inference
    server is beside simulators, but with double buffering, where it works at the same time as they, it is by itself if
    two workers or more are left for them. Draws from replay that wait for no priorities are made where others play, so
    that the learner does not wait for them. A viewer has a worker more, which no other waits for, and so have the
    server, in free mode the evaluator, and with `adapt` the journal, which has something to do in every round.
    """
    learners = training.learner_paths()
    first = 0 if mode == "sync" or workers <= len(learners) else len(learners)
    where = {path: i % workers for i, paths in enumerate(learners) for path in paths}
    if hasattr(training, "server"):
        where["main.server"] = first
        if training.server.parts == 2 and first + 2 < workers:
            first += 1
    for name in ("actors", "simulators", "loaders"):
        n = len(getattr(training, name, ()))
        where |= {f"main.{name}[{i}]": first + i * (workers - first) // n for i in range(n)}
    if hasattr(training, "experience") and mode != "sync" and not training.experience.algorithm.prioritized:
        where["main.experience"] = workers - 1
    if hasattr(training, "evaluator"):
        where["main.evaluator"] = workers - 1
    return where | {f"main.{name}": workers + i for i, name in enumerate(training.beside)}


def worker_of(where: Mapping[str, int], path: str) -> int:
    """The worker of a reactor that `placement` names, or else worker 0."""
    return where.get(path, 0)
