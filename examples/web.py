"""A web service that answers with a policy while it is trained.

HTTP comes in beside the program, in a thread of its own: Starlette turns a request into one for `rl.Server`, which is a
reactor of the program that trains. It gets there as an event of a physical action, and the learner's new weights by a
connection. What is learned is the same bit for bit, whatever comes in and when.

    curl -d '{"observation": [0.0, 0.1, 0.0, -0.1]}' http://127.0.0.1:8000/act
    curl http://127.0.0.1:8000/statistics

Run:   python web.py --clients 4          trains, asks itself, and says how long answers took: p50, p99
       python web.py --stay               goes on serving what was learned, until Ctrl-C
Needs: pip install '.[rl,web]'
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import gymnasium as gym
import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import reactors as rx
from reactors import rl

if TYPE_CHECKING:
    from collections.abc import Generator

    from starlette.requests import Request

ENV = "CartPole-v1"


class Service:
    """What is answered over HTTP, by the server that it has at the time."""

    def __init__(self, server: rl.Server) -> None:
        self.server = server
        routes = [Route("/act", self.act, methods=["POST"]), Route("/statistics", self.statistics)]
        self.app = Starlette(routes=routes)

    async def act(self, request: Request) -> JSONResponse:
        """The action for one observation; 400 for what is none, 503 where no program serves."""
        try:
            answer = self.server.request((await request.json())["observation"])
            action = np.asarray(await asyncio.wrap_future(answer)).tolist()
        except rl.NotServingError as error:
            return JSONResponse({"error": str(error)}, status_code=503)
        except (ValueError, KeyError, TypeError, rx.ReactorError) as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        return JSONResponse({"action": action})

    async def statistics(self, _: Request) -> JSONResponse:
        """How many requests there were, in which batches, and how long they took."""
        return JSONResponse(asdict(self.server.statistics()))


@contextmanager
def listening(app: Starlette, port: int) -> Generator[int]:
    """Answers HTTP on 127.0.0.1 in a thread; gives the port, which the system chooses for 0."""
    # With its protocol said, asyncio sends what it is given at once (TCP_NODELAY); else each answer takes 40 ms more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        web = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=web.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            web.should_exit = True
            thread.join()


class Client(threading.Thread):
    """Plays one episode after the other, asking for every action, until nobody serves; keeps how long answers took."""

    def __init__(self, server: rl.Server, port: int, seed: int) -> None:
        super().__init__(daemon=True)  # or it waits if training fails
        self.server, self.port, self.seed = server, port, seed
        self.seconds: list[float] = []
        self.returns: list[float] = []

    def run(self) -> None:
        env, connection = gym.make(ENV), HTTPConnection("127.0.0.1", self.port)
        observation, _ = env.reset(seed=self.seed)
        total = 0.0
        self.server.wait()
        while (action := self.ask(connection, observation.tolist())) is not None:
            observation, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            if terminated or truncated:
                self.returns.append(total)
                observation, _ = env.reset()
                total = 0.0
        connection.close()
        env.close()

    def ask(self, connection: HTTPConnection, observation: list[float]) -> int | None:
        began = time.perf_counter()
        connection.request("POST", "/act", json.dumps({"observation": observation}))
        answer = connection.getresponse()
        said = json.loads(answer.read())
        if answer.status == 503:
            return None
        self.seconds.append(time.perf_counter() - began)
        return int(said["action"])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=40_000)
    options.add_argument("--workers", type=int, default=1, help="that train; the server has one more")
    options.add_argument("--port", type=int, default=8000, help="0: any that is free")
    options.add_argument("--clients", type=int, default=0, help="of its own, to measure with")
    options.add_argument("--stay", action="store_true", help="go on serving after the training")
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    algorithm = rl.PPO.preset(ENV)
    server = rl.serve(algorithm, env=ENV, max_batch=8, max_wait="0.5 ms")
    service = Service(server)
    with listening(service.app, args.port) as port:
        print(f"http://127.0.0.1:{port}/act", flush=True)
        clients = [Client(server, port, seed) for seed in range(args.clients)]
        for client in clients:
            client.start()
        done = rl.train(algorithm, ENV, total_steps=args.steps, seed=args.seed, workers=args.workers, serve=server)
        for client in clients:
            client.join()
        print(f"{done.steps:,} steps, {server.updates} times new weights; {server.statistics()}")
        if clients:
            report(clients)
        if args.stay:
            service.server = rl.serve(done, max_batch=8, max_wait="0.5 ms")
            with suppress(KeyboardInterrupt):
                rx.run(service.server)


def report(clients: list[Client]) -> None:
    """How long answers took with HTTP around them, and how well clients played."""
    seconds = np.concatenate([client.seconds for client in clients])
    p50, p99 = np.percentile(seconds, (50, 99)) * 1e3
    print(f"{len(seconds):,} answers over HTTP: p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    returns = [each for client in clients for each in client.returns]
    print(f"{len(returns)} episodes, the longest of {max(returns, default=0):.0f} steps")


if __name__ == "__main__":
    main()
