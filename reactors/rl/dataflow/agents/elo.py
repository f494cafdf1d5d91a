"""How strong is what learns, and what is in its pool?"""

from __future__ import annotations

import statistics
from collections import deque
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import reactors as rx
from reactors.lowlevel import offered
from reactors.rl.checkpoints.stateful import Stateful
from reactors.rl.encoding.state import count
from reactors.rl.opponents import BEGIN, STEP, expected
from reactors.rl.rounds import ROUND, round_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reactors.rl.dataflow.agents.opponents import Game, Ratings
    from reactors.rl.opponents import Past

LATELY = 100
"""Episodes by which is said how often it won lately, and what return is usual."""


class Elo(Stateful):
    """Rates past policies and what learns, by the results of all actors, and tells the actors `ratings`.

    Where all agents are `alike`, who gets more than the others has won. Otherwise a game is not fair: who gets more
    than usual, the mean of its last hundred episodes against past policies, has. Ratings of the last `lag` rounds are
    on their way, as weights are; one that goes on from a checkpoint sends them `again`.
    """

    again = rx.LogicalAction(int)
    results = rx.Input(tuple, width="actors")
    figures = rx.Output(dict)
    ratings = rx.Output(dict)
    offered(ratings)

    def __init__(self, past: Past, teams: Sequence[str], actors: int, lag: int, *, alike: bool) -> None:
        self.past, self.teams, self.actors, self.alike = past, list(teams), actors, alike
        self.rated: Ratings = {name: {"learner": BEGIN, "past": {0: BEGIN}} for name in teams}
        self.usual: dict[str, deque[float]] = {name: deque(maxlen=LATELY) for name in teams}
        self.won: dict[str, deque[float]] = {name: deque(maxlen=LATELY) for name in teams}
        self.sent: deque[tuple[int, Ratings]] = deque(maxlen=lag)  # when, in ns, and what
        self.add_reaction(rx.startup, self.open, effects=self.again)
        self.add_reaction(self.again, self.send_again, effects=self.ratings)
        self.add_reaction(self.results, self.rate, effects=(self.figures, self.ratings))

    def open(self) -> None:
        """Go on, if a checkpoint has something to go on from."""
        self.go_on()

    def send_again(self) -> None:
        """Ratings that were on their way."""
        self.ratings.set(self.sent[self.again.value][1])

    def rate(self) -> None:
        """Go by the results of a round, in the order of actors; then what was learned may come into the pool."""
        for i in self.results.present:
            for result in self.results[i].value:
                self.note(result)
        rounds = round_of(self.tag) + 1
        if rounds % self.past.every == 0:
            for rated in self.rated.values():
                rated["past"][rounds] = rated["learner"]
                while len(rated["past"]) > self.past.size:
                    del rated["past"][min(rated["past"])]
        self.figures.set(self.told())
        self.sent.append((self.tag.time, deepcopy(self.rated)))
        self.ratings.set(self.sent[-1][1])

    def note(self, result: Game) -> None:
        """One result: what the learner's rating goes up, those of its opponents go down, and the other way round."""
        mine, usual = self.rated[result.team], self.usual[result.team]
        other = result.theirs if self.alike else statistics.fmean(usual) if usual else result.mine
        score = 0.5 + 0.5 * ((result.mine > other) - (result.mine < other))
        usual.append(result.mine)
        self.won[result.team].append(score)
        known = [(team, rounds) for team, rounds in result.against if rounds in self.rated[team]["past"]]
        if not known:  # they are no longer in the pool
            return
        theirs = statistics.fmean(self.rated[team]["past"][rounds] for team, rounds in known)
        change = STEP * (score - expected(mine["learner"], theirs))
        mine["learner"] += change
        for team, rounds in known:
            self.rated[team]["past"][rounds] -= change / len(known)

    def told(self) -> dict[str, float]:
        """What the journal has of it."""
        found: dict[str, float] = {}
        for name, rated in self.rated.items():
            of, past = f"groups/{name}/elo" if len(self.teams) > 1 else "elo", rated["past"].values()
            found |= {
                f"{of}/learner": rated["learner"], f"{of}/pool_mean": statistics.fmean(past),
                f"{of}/pool_min": min(past), f"{of}/pool_max": max(past), f"{of}/pool_size": len(past),
            }  # fmt: skip
            if self.won[name]:
                found[f"{of}/won"] = statistics.fmean(self.won[name])
        return found

    def state_dict(self) -> dict[str, Any]:
        """Ratings, and those on their way."""
        return {
            "rated": deepcopy(self.rated), "usual": dict(self.usual), "won": dict(self.won),
            "times": [when for when, _ in self.sent], "sent": [sent for _, sent in self.sent],
        }  # fmt: skip

    def form(self) -> dict[str, Any]:
        """Of any policies."""
        of_each: dict[str, Any] = {name: deque() for name in self.teams}
        return {
            "rated": {name: {"learner": 0.0, "past": {}} for name in self.teams}, "usual": of_each, "won": of_each,
            "times": [], "sent": [],
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave, and have ratings that were on their way sent again."""
        self.rated = state["rated"]
        for name in self.teams:
            for mine, saved in ((self.usual, state["usual"]), (self.won, state["won"])):
                mine[name].extend(map(float, saved[name]))
        last = self.first - ROUND * (self.sent.maxlen or 0)
        for when, ratings in zip(state["times"], state["sent"], strict=True):
            if count(when) >= last:
                self.again.schedule(len(self.sent), when)
                self.sent.append((when, ratings))
