"""Internal: runs elaborated programs. Users import `reactors`.

What a program is once names and classes are gone (program), what the C core of csrc/ runs it from (planning, tables,
memory), the loop around the core (engine) with the values of ports (values), and workers as processes (processes).
Nothing here knows a Python reactor, nor anything of reinforcement learning.
"""
