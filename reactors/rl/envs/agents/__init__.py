"""Environments with many agents, as training sees them: who there may be, and which of them form a group.

The environments themselves are stepped by `parallel_simulation` next door.
"""
