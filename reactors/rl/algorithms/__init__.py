"""Algorithms: what is learned from experience, and how one acts meanwhile. The dataflow is `rl.training`'s."""
