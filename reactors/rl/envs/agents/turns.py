"""How is a game stepped whose agents take turns?

PettingZoo's AEC environments are games in which one agent acts at a time. Here, such a game is an environment in which
all other agents are absent: they have no observation and take no action, and only get the rewards that others' actions
give them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactors.rl.envs.parallel_simulation import Outcome, ParallelSimulation, said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def takes_turns(env: Any) -> bool:
    """Whether it is one of PettingZoo's AEC environments."""
    return hasattr(env, "agent_iter") and not hasattr(env, "aec_env")


def simulation_of(make: Callable[[], Any], *, turns: bool | None = None, **options: Any) -> ParallelSimulation:
    """A simulation of what `make` makes, with agents in turn or at once; by default, one is made to find out."""
    if turns is None:
        env = make()
        turns, kind = takes_turns(env), TurnSimulation if takes_turns(env) else ParallelSimulation
        return kind(lambda: env, **options)
    return (TurnSimulation if turns else ParallelSimulation)(make, **options)


class TurnSimulation(ParallelSimulation):
    """An AEC environment made by `make`, in which only the agent whose turn it is is present.

    Outcomes are of all agents in play: the reward of each in this step, and whether its episode is over. One that has
    ended is out of play, though the environment lists it until its turn comes.

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
        self.infos = said(infos, self.observations)

    def _turn(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """The observation and info of the agent whose turn it is; empty when all is over."""
        env = self.env
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)  # which removes it
        if not env.agents:
            return {}, {}
        agent = env.agent_selection
        return {agent: env.observe(agent)}, {agent: env.infos.get(agent, {})}

    def _advance(self, actions: Mapping[Any, Any], there: list[Any]) -> tuple[list[Outcome], dict[Any, Any], Any]:
        env, (agent,) = self.env, there
        playing = [each for each in env.agents if not (env.terminations[each] or env.truncations[each])]
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
        """The observations of all agents in play."""
        return {agent: self.env.observe(agent) for agent in self.env.agents}
