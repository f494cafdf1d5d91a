"""Rows of experience: the buffer, its memory, its sum tree, how it is saved, and `rl.Replay`, the reactor around it.

Nothing here knows of environments or algorithms: a row is a record of any fields.
"""
