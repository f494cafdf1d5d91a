"""Do peers' own tests of vector environments pass on ours? `python -m tests.peers FOLDER [arguments of pytest]`.

The folder is a checkout of Gymnasium, or the source of Stable-Baselines3, of the version that is installed. Nothing of
theirs is in this repository. In Gymnasium's tests/vector, rl.VectorEnv takes the place of AsyncVectorEnv; in
Stable-Baselines3's tests/test_vec_envs.py, rl.sb3.VecEnv that of SubprocVecEnv. What is refused on purpose, which
`tests/peers/swapped.py` lists, has to fail.
"""

import os
import subprocess
import sys
from pathlib import Path

SUITES = ("tests/vector", "tests/test_vec_envs.py")


def main() -> int:
    """Run what the folder has of these; the exit status of pytest."""
    folder, *arguments = sys.argv[1:] or [""]
    suites = [suite for suite in SUITES if folder and (Path(folder) / suite).exists()]
    if not suites:
        print(f"{folder!r} has neither of {', '.join(SUITES)}: make peers SUITE=a checkout of Gymnasium")
        return 2
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
    command += ["-p", "swapped", "-q", "-rfEX", *arguments, *suites]
    return subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
