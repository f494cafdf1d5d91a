"""Workers as processes: how they are started, what they say, how they end.

A server forks the workers of every run (servers, server), the caller watches over them (workers), and each runs its
part (worker). What they share besides the arena are messages, the caller's logs, warnings, output and terminal. What a
reaction means is not decided here.
"""
