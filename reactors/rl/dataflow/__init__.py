"""Rounds of training as reactors: who acts, what experience becomes, and the whole graph, `Training`.

A round of steps is one value on a port here; reactors of single steps are `rl.Env` and `rl.Replay`, and both are made
of the same parts, which lie in `envs` and `replay`. Nothing here says how an algorithm learns (`learning`), looks at a
run (`monitoring`), or has files (`runs`).
"""
