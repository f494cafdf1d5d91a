"""From `main` to a graph of integers: grow the tree, wire it, order the reactions.

Every error that needs no run is found here. Nothing here draws or runs.
"""
