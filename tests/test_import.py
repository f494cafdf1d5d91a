"""What `import reactors` brings along."""

import subprocess
import sys

import pytest

import reactors as rx
from reactors import rl


@pytest.mark.parametrize(
    "module", ["torch", "gymnasium", "networkx", "graphviz", "cloudpickle", "cffi", "typing_extensions"]
)
def test_import_is_free_of(module: str) -> None:
    code = f"import reactors, sys; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
