"""What of a process is not only ours, and is set while a program runs: put back when it is over.

The caller's settings that decide what a program computes, set on each worker: those of Python, NumPy and torch, those
of a module that is imported later, and how many threads numeric libraries use. The cores that a worker stays on, and
when Python's collector rests. Nothing here knows of programs.
"""
