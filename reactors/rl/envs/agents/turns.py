"""How does one step a game whose agents take turns?

PettingZoo's AEC environments are games in which one agent acts at a time. Here that is an environment in which all
others are absent: they have no observation and take no action, and are only told what they get by what others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.envs.parallel_simulation import Outcome, ParallelSimulation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def takes_turns(env: Any) -> bool:
    """Whether it is one of PettingZoo's AEC environments."""
    return hasattr(env, "agent_iter") and not hasattr(env, "aec_env")


def simulation_of(make: Callable[[], Any], *, turns: bool | None = None, **options: Any) -> ParallelSimulation:
    """A simulation of what `make` makes, whose agents take turns or act at once; by default one is made to look."""
    if turns is None:
        env = make()
        turns, kind = takes_turns(env), TurnSimulation if takes_turns(env) else ParallelSimulation
        return kind(lambda: env, **options)
    return (TurnSimulation if turns else ParallelSimulation)(make, **options)


class TurnSimulation(ParallelSimulation):
    """An AEC environment made by `make`, of whose agents the one is there whose turn it is.

    Outcomes are of all agents that play: what each got by the step, and whether it is over for it.

    >>> import pettingzoo
    >>> sim = TurnSimulation(lambda: pettingzoo.make("aec", "classic/tictactoe_v3"), seed=1)
    >>> sim.reset()
    >>> [*sim.observations], sorted(outcome.agent for outcome in sim.step({"player_1": 4}))
    (['player_1'], ['player_1', 'player_2'])
    >>> [*sim.observations]
    ['player_2']
    >>> sim.close()
    """

    def _reset(self, seed: int | None) -> None:
        self.env.reset(seed=seed)
        self.observations, infos = self._turn()
        self._tell(infos)

    def _turn(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """What the agent sees whose turn it is, and what is said beside it; nobody's, when all is over."""
        env = self.env
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)  # which removes it
        if not env.agents:
            return {}, {}
        agent = env.agent_selection
        return {agent: env.observe(agent)}, {agent: env.infos.get(agent, {})}

    def _advance(self, actions: Mapping[Any, Any], there: list[Any]) -> tuple[list[Outcome], dict[Any, Any], Any]:
        env, (agent,) = self.env, there
        playing = list(env.agents)
        env.step(actions[agent])
        outcomes = [
            Outcome(
                each, env.observe(each), float(env.rewards.get(each, 0.0)), bool(env.terminations[each]),
                bool(env.truncations[each]),
            )
            for each in playing
        ]  # fmt: skip
        final = {each.agent: env.infos.get(each.agent, {}) for each in outcomes if each.terminated or each.truncated}
        left, infos = self._turn()
        return outcomes, left, final | infos

    def everything(self) -> dict[Any, Any]:
        """What all see that play."""
        return {agent: self.env.observe(agent) for agent in self.env.agents}
