"""A run that goes forward and back: re-execution on one worker, in processes that are copied where it stands.

The program runs in a process of its own, one reaction after another, and asks before each of them whether to stop
(`cursor`). A copy of that process, made by fork, is a snapshot: all of Python's state, for a few milliseconds
(`forking`). The user's process has no part in the run: it says where to go (`timeline`), and what it shows of the
program is brought home as from any worker (`replay`). What would have been is a copy that was changed before it went
on (`counterfactual`). Which program it is, and where it may begin, is found out in `origins`.
"""
