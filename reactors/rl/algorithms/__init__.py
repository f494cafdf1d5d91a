"""Algorithms: what is learned from experience, and how one acts meanwhile. No dataflow here; that is `rl.training`'s."""
