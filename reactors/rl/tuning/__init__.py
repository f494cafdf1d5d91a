"""How the machine is best used for an algorithm in an environment: candidates, measured, and the best one.

How many actors and learners, on how many workers, and in which mode. Hyperparameters of algorithms are not tuned here.
"""
