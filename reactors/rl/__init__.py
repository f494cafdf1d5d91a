"""Reactors for reinforcement learning: environments, replay, and what is made of them.

`import reactors` does not import this package, and this package imports torch only where tensors are asked for.
"""

from reactors.rl.sum_tree import SumTree, SumTreeError

__all__ = ["SumTree", "SumTreeError"]
