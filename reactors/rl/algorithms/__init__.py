"""The algorithms, one file each, and the base classes that several of them share.

What is owed to the dataflow is in `rl.contract`, estimates of returns in `rl.estimates`. Nothing here knows the
dataflow, workers or files.
"""
