"""Requests from outside, answered by a policy in batches while its program runs.

The server, the batches, the way of the answers, and how long they took. Which policy answers, and from which run it is
loaded, is decided in `runs`.
"""
