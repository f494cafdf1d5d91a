"""Multi-agent inference: one shared environment, one policy per agent, all agents of a step in parallel.

The environment is any PettingZoo parallel environment: the traffic junction next door, or pistonball from PettingZoo's
registry. Agents that are not there (yet, or any more) have no observation at that tag, so their policies do not run and
their actions are absent. This is workload E of arXiv 2312.04704.

The policies are untrained networks that act by chance. With `--train` cars learn by MAPPO to cross the junction, and
what they have learned drives them: collisions in a hundred steps are printed, before and after.

With `--batched`, one reactor has the ports and weights of all agents, and evaluates them in one call.

With `--serve` the simulation runs at 200 steps a second, and meanwhile a client asks the same policies about
observations of its own, through a physical action. The answers come through a socket, whichever process gives them.
With `--train --serve` the trained policies are served by `rl.serve`, and the cars are the clients.

Run:   python multi_agent.py --agents 10
       python multi_agent.py --env pistonball --agents 10 --workers 2
       python multi_agent.py --agents 10 --batched
       python multi_agent.py --serve --workers 2
       python multi_agent.py --train 40000 --serve
Needs: pip install '.[rl]'
"""

import argparse
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import torch
from numpy.typing import NDArray
from traffic_junction import TrafficJunction

import reactors as rx
from reactors import rl

ANSWER = "ii"  # number of the request, action


def environment(name: str, agents: int) -> Any:
    """A PettingZoo parallel environment with `agents` agents and discrete actions."""
    if name == "junction":
        return TrafficJunction(agents)
    return pettingzoo.make("parallel", "butterfly/pistonball_v6", n_pistons=agents, continuous=False)


def features(obs: NDArray[Any]) -> NDArray[np.float32]:
    """A vector as it is, a picture coarser and in grey."""
    return obs if obs.ndim == 1 else (obs[::12, ::12].mean(2).ravel() / 255).astype(np.float32)


class World(rx.Reactor):
    """The shared environment. Channel i of its ports belongs to agent i, and is absent where that agent is."""

    actions = rx.Input(shape=(), dtype=np.int64, width="agents")
    observation = rx.Output(shape="obs_size", dtype=np.float32, width="agents")

    def __init__(self, env: str, agents: int, obs_size: int, steps: int) -> None:
        self.name, self.agents, self.obs_size, self.steps = env, agents, obs_size, steps
        self.episodes = self.decisions = self.collisions = self.through = 0
        self.reward = 0.0

    @rx.reaction(rx.startup, effects=observation)
    def begin(self) -> None:
        self.env = environment(self.name, self.agents)
        self.show(self.env.reset(seed=self.seed % 2**32)[0])

    @rx.reaction(actions, effects=(observation, rx.stop))
    def step(self) -> None:
        names = self.env.possible_agents
        actions = {names[i]: int(self.actions[i].value) for i in self.actions.present}
        observations, rewards, _, _, infos = self.env.step(actions)
        self.decisions += len(self.actions.present)
        self.reward += float(sum(rewards.values()))
        self.collisions += sum(info.get("collided", False) for info in infos.values())
        self.through += sum(info.get("through", False) for info in infos.values())
        self.steps -= 1
        if not self.steps:
            self.request_stop()
        elif self.env.agents:
            self.show(observations)
        else:
            self.episodes += 1
            self.show(self.env.reset()[0])

    def show(self, observations: Mapping[str, NDArray[Any]]) -> None:
        for i, name in enumerate(self.env.possible_agents):
            if name in self.env.agents:
                self.observation[i].set(features(observations[name]))

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.env.close()


def network(agent: int, obs_size: int, n_actions: int) -> torch.nn.Module:
    """An agent's, with weights of its own."""
    with rl.Seeded(agent):  # torch's own generator is shared by all threads of the process
        net = torch.nn.Sequential(torch.nn.Linear(obs_size, 64), torch.nn.ReLU(), torch.nn.Linear(64, n_actions))
        for parameter in net.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    return net


class Agent(rx.Reactor):
    """One policy."""

    observation = rx.Input(shape="obs_size", dtype=np.float32)
    action = rx.Output(shape=(), dtype=np.int64)

    def __init__(self, obs_size: int, n_actions: int) -> None:
        self.obs_size, self.n_actions = obs_size, n_actions

    @rx.reaction(rx.startup)
    def load(self) -> None:
        self.policy = network(self.bank_index, self.obs_size, self.n_actions)

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        logits = self.logits(self.observation.tensor)  # shares memory with the world's output
        sample = (logits + self.rng.gumbel(size=self.n_actions)).argmax()  # of the softmax
        self.action.set(np.asarray(sample))

    def logits(self, observation: torch.Tensor) -> NDArray[np.float32]:
        with torch.inference_mode():
            logits: NDArray[np.float32] = self.policy(observation).numpy()
        return logits


class Trained(rx.Reactor):
    """The agents with policies that were trained, which act in one call: each does what it thinks best."""

    observation = rx.Input(shape="obs_size", dtype=np.float32, width="agents")
    action = rx.Output(shape=(), dtype=np.int64, width="agents")

    def __init__(self, policies: rl.TrainedPolicy, names: list[str], obs_size: int) -> None:
        self.policies, self.names, self.agents, self.obs_size = policies, names, len(names), obs_size

    @rx.reaction(observation, effects=action)
    def act(self) -> None:
        actions = self.policies({self.names[i]: self.observation[i].value for i in self.observation.present})
        for i in self.observation.present:
            self.action[i].set(actions[self.names[i]])


class MultiAgent(rx.Reactor):
    """The world and its agents. Actions reach the world `after` the observation: a microstep later, or in real time."""

    kind: type[Agent] = Agent
    agents: Any  # a bank of them, or one reactor with the same ports

    def __init__(
        self,
        env: str = "junction",
        agents: int = 4,
        steps: int = 1000,
        after: str | int = 0,
        *,
        batched: bool = False,
        trained: rl.TrainedPolicy | None = None,
    ) -> None:
        probe = environment(env, agents)
        name = probe.possible_agents[0]
        obs_size, n_actions = features(probe.observation_space(name).sample()).size, int(probe.action_space(name).n)
        self.world = World(env, agents, obs_size, steps)
        if trained is not None:
            self.agents = Trained(trained, probe.possible_agents, obs_size)
        elif batched:
            networks = [network(i, obs_size, n_actions) for i in range(agents)]
            self.agents = rl.Policies(networks, shape=(obs_size,), choose="sample")
        else:
            self.agents = rx.bank(agents, self.kind, obs_size, n_actions)
        rx.connect(self.world.observation, self.agents.observation)
        rx.connect(self.agents.action, self.world.actions, after=after)


class ServingAgent(Agent):
    """The same policy, which also answers questions from outside: with the likeliest action."""

    question = rx.Input(shape="obs_size", dtype=np.float32)
    answer = rx.Output(int)

    @rx.reaction(question, effects=answer)
    def reply(self) -> None:
        self.answer.set(int(self.logits(self.question.tensor).argmax()))


class Desk(rx.Reactor):
    """Where requests (number, agent, observation) come in, and from where answers leave by datagram."""

    request = rx.PhysicalAction(tuple[int, int, NDArray[np.float32]])
    question = rx.Output(shape="obs_size", dtype=np.float32, width="agents")
    answer = rx.Input(int, width="agents")

    def __init__(self, agents: int, obs_size: int, client: str) -> None:
        self.agents, self.obs_size, self.client = agents, obs_size, client

    @rx.reaction(rx.startup)
    def open(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    @rx.reaction(request, effects=question)
    def ask(self) -> None:
        number, agent, observation = self.request.value
        self.number = number
        self.question[agent].set(observation)

    @rx.reaction(answer)
    def tell(self) -> None:
        for agent in self.answer.present:
            self.socket.sendto(struct.pack(ANSWER, self.number, self.answer[agent].value), self.client)

    @rx.reaction(rx.shutdown)
    def close(self) -> None:
        self.socket.close()


class Serving(MultiAgent):
    """The simulation at 200 steps a second, and a desk beside it."""

    kind = ServingAgent

    def __init__(self, env: str, agents: int, steps: int, client: str) -> None:
        super().__init__(env, agents, steps, after="5 ms")
        self.desk = Desk(agents, self.world.obs_size, client)
        rx.connect(self.desk.question, self.agents.question)
        rx.connect(self.agents.answer, self.desk.answer)


def ask(desk: Desk, client: socket.socket, over: threading.Event, latencies: list[float]) -> None:
    """The client: asks one agent after the other about a random observation, as fast as the answers come."""
    random = np.random.default_rng(0)
    while not over.is_set():
        number, asked = len(latencies), time.perf_counter()
        request = (number, number % desk.agents, random.random(desk.obs_size, np.float32))
        if not desk.request.schedule(request):  # not started yet, or over
            time.sleep(0.001)
            continue
        try:
            answered, _action = struct.unpack(ANSWER, client.recv(8))
        except TimeoutError:  # the program ended before it came to this request
            continue
        assert answered == number
        latencies.append(time.perf_counter() - asked)


def simulate(args: argparse.Namespace, trained: rl.TrainedPolicy | None = None) -> tuple[MultiAgent, rx.Result]:
    """Runs the simulation as fast as it can."""
    program = MultiAgent(args.env, args.agents, args.steps, batched=args.batched, trained=trained)
    return program, rx.run(program, workers=args.workers, backend=args.backend, fast=True, seed=args.seed)


def serve(args: argparse.Namespace) -> tuple[MultiAgent, rx.Result]:
    """Runs the simulation with a client beside it."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        address = str(Path(folder) / "client")
        client.bind(address)
        client.settimeout(1)
        program = Serving(args.env, args.agents, args.steps, address)
        latencies: list[float] = []
        over = threading.Event()
        thread = threading.Thread(target=ask, args=(program.desk, client, over, latencies), daemon=True)
        thread.start()
        result = rx.run(program, workers=args.workers, backend=args.backend, seed=args.seed)
        over.set()
        thread.join()
    if latencies:
        print(f"{len(latencies)} requests answered, the median after {np.median(latencies) * 1e3:.2f} ms")
    return program, result


def learn(args: argparse.Namespace) -> rl.TrainedPolicy:
    """The cars' policies: one network for all, by what each sees alone; its critic sees what all of them see."""
    algorithm = rl.MAPPO(num_envs=8, horizon=50)
    return rl.train(
        algorithm, TrafficJunction, env_kwargs={"cars": args.agents}, total_steps=args.train, seed=args.seed,
        workers=args.workers, backend=args.backend,
    )  # fmt: skip


def drive(server: rl.Server, args: argparse.Namespace) -> tuple[int, int]:
    """Cars outside of the program, each of which asks the server what to do; collisions, and cars that came through."""
    env = TrafficJunction(args.agents)
    observations, _ = env.reset(seed=args.seed)
    collisions = through = 0
    for _ in range(args.steps):
        asked = {car: server.request(observations[car], agent=car) for car in env.agents}
        observations, _, _, _, infos = env.step({car: int(answer.result()) for car, answer in asked.items()})
        collisions += sum(info.get("collided", False) for info in infos.values())
        through += sum(info.get("through", False) for info in infos.values())
        if not env.agents:
            observations, _ = env.reset()
    return collisions, through


def serve_cars(trained: rl.TrainedPolicy, args: argparse.Namespace) -> tuple[int, int]:
    """What comes of cars that are clients of a server with these policies."""
    server = rl.serve(trained, max_batch=args.agents, max_wait="0.1 ms", stoppable=True)
    thread = threading.Thread(target=rx.run, args=(server,), kwargs={"backend": args.backend})
    thread.start()
    server.wait()
    try:
        return drive(server, args)
    finally:
        server.stop()
        thread.join()
        print(server.statistics())


def compare(args: argparse.Namespace) -> None:
    """Trains, and says what became of it."""

    def say(when: str, collisions: int, through: int) -> None:
        a, b = (100 * each / args.steps for each in (collisions, through))
        print(f"{when}: {a:.1f} collisions in a hundred steps, and {b:.1f} cars that came through")

    world = simulate(args)[0].world
    say("before training", world.collisions, world.through)
    trained = learn(args)
    if args.serve:
        say(f"after {trained.config['total_steps']:,} steps, served", *serve_cars(trained, args))
    else:
        world = simulate(args, trained)[0].world
        say(f"after {trained.config['total_steps']:,} steps", world.collisions, world.through)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--env", default="junction", choices=("junction", "pistonball"))
    options.add_argument("--agents", type=int, default=4)
    options.add_argument("--steps", type=int, default=1000)
    options.add_argument("--batched", action="store_true", help="evaluate all policies in one call")
    options.add_argument("--serve", action="store_true", help="answer a client's requests meanwhile")
    options.add_argument("--train", type=int, default=0, metavar="STEPS", help="let cars learn for so many steps")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--backend", default="auto", choices=("auto", "inline", "thread", "process"))
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    if args.batched and args.serve:
        options.error("--batched has no agents that answer questions; take one of --batched and --serve")
    if args.train:
        if args.env != "junction":
            options.error("--train is for cars at the junction")
        compare(args)
        return
    program, result = serve(args) if args.serve else simulate(args)
    print(result.summary())
    world = program.world
    print(
        f"{args.steps} steps ({args.steps / result.wall_time:,.0f} a second), {world.episodes} episodes over, "
        f"{world.decisions / args.steps:.2f} of {args.agents} agents there on average, reward {world.reward:.1f}"
    )


if __name__ == "__main__":
    main()
