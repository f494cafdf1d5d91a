"""What `import reactors` brings along."""

import subprocess
import sys

import pytest

import reactors as rx
from reactors import rl

NEVER = "asyncio cffi click cloudpickle graphviz gymnasium importlib.metadata multiprocessing networkx torch"
RUNNING = "reactors.graph reactors.elaboration.tree reactors.execution.binding reactors_runtime.virtual_sleep"
UNASKED = (
    "html json logging reactors.drawing reactors.execution.debug_ports reactors.execution.in_threads reactors.lowlevel "
    "reactors.reports.recording reactors.reports.summary reactors.tracing reactors.shipping "
    "reactors_runtime.processes.servers reactors_runtime.processes.worker socket"
)
DECLARING = """
import reactors as rx
class Count(rx.Reactor):
    tick = rx.Timer(period="1 ms")
    out = rx.Output(int)
    @rx.reaction(tick, effects=out)
    def on_tick(self):
        self.out.set(1)
class Look(rx.Reactor):
    given = rx.Input(int)
    @rx.reaction(given)
    def look(self): ...
class Main(rx.Reactor):
    def __init__(self):
        self.count, self.look = Count(), Look()
        rx.connect(self.count.out, self.look.given)
main = Main()
"""


@pytest.mark.parametrize(
    ("program", "without"),
    [
        ("import reactors", f"{NEVER} {RUNNING} {UNASKED} dataclasses numpy reactors.errors reactors.model"),
        ("import reactors.rl", f"{NEVER} {RUNNING} {UNASKED} dataclasses numpy reactors.errors reactors.model"),
        (DECLARING, f"{NEVER} {RUNNING} {UNASKED} hashlib subprocess reactors.launch"),
        (DECLARING + "rx.run(main, fast=True, timeout='3 ms')", f"{NEVER} {UNASKED}"),
    ],
    ids=["import", "import of rl", "declaring", "one worker"],
)
def test_modules_are_loaded_when_they_are_used(program: str, without: str) -> None:
    code = f"{program}\nimport sys; sys.exit(' '.join(set({without.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_training_does_not_import_the_compiler_of_torch() -> None:
    code = (
        "import sys; from reactors import rl\n"
        "small = dict(num_envs=2, horizon=4, hidden=(4,))\n"
        "for algorithm in (rl.PPO(**small, epochs=1), rl.DQN(**small, learning_starts=4, batch_size=4)):\n"
        "    rl.train(algorithm, 'CartPole-v1', total_steps=16, actors=1)\n"
        "sys.exit(str('torch._dynamo' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "False"


def test_what_there_is_is_the_api() -> None:
    """Of the lazy package, too, what no one has asked for yet."""
    assert dir(rx) == sorted(rx.__all__)
    assert dir(rl) == sorted([*rl.__all__, "sb3"])
    assert {"PPO", "Env", "train"} < set(dir(rl))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("rx.Reacter", "module 'reactors' has no attribute 'Reacter'; did you mean 'Reactor'?"),
        ("rx.gone", "module 'reactors' has no attribute 'gone'"),
        ("rl.PP0", "module 'reactors.rl' has no attribute 'PP0'; did you mean 'PPO'?"),
        ("from reactors import reacter", "cannot import name 'reacter' from 'reactors'; did you mean 'Reactor'?"),
        ("from reactors import Foo", "cannot import name 'Foo' from 'reactors'; dir(reactors) lists what there is"),
        ("from reactors.rl import PP0", "cannot import name 'PP0' from 'reactors.rl'; did you mean 'PPO'?"),
    ],
)
def test_name_that_there_is_not(code: str, words: str) -> None:
    with pytest.raises(ImportError if "import" in code else AttributeError) as caught:
        exec(code, {"rx": rx, "rl": rl})
    assert str(caught.value) == words
