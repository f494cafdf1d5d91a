"""The caller's settings that decide what a program computes, set on each worker.

Those of Python, NumPy and torch, those of a module that is imported later, and how many threads numeric libraries use.
Nothing here knows of programs.
"""
