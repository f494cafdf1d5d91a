"""What `import reactors` brings along."""

import subprocess
import sys

import pytest


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
