"""From a program to the memory that its workers run from.

Which worker runs which reactor (placement) and in which order (ranks), what it needs for that (plan, delays), its
tables (filling), and where they lie (arena, image). Nothing here runs.
"""
