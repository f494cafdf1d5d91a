"""How the part of a program that a worker process runs gets there, and what its reactors have become gets back.

What can be pickled, what stands in for what cannot, and which object it is that fails. Nothing here starts a process
(`reactors_runtime` does) or decides which worker runs what.
"""
