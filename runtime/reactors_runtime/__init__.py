"""Runs a plain graph of integers on a C core, on one worker or many, in threads or processes.

The graph (`program`), its tables in shared memory (`image`), one worker's loop (`engine`), worker processes (`workers`,
`worker`, `server`), and what they share of the caller's: terminal, logging, warnings, Ctrl-C. Nothing here knows a
reactor class or reinforcement learning, and nothing imports `reactors`.
"""
