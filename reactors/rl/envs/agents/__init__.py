"""Environments with many agents, as training sees them: which agents there may be, and which of them form a group.

The environments themselves are stepped by `parallel_simulation`, one folder up.
"""
