"""The algorithms, one file each, and the base classes that several of them share.

Their contract with the dataflow is in `rl.contract`, estimates of returns are in `rl.estimates`. Nothing here knows the
dataflow, workers or files.
"""
