"""Algorithms for many agents, one file each: of a group of agents that share a network, as `contract.agents` has it.

They know no dataflow, workers or files. `team_network` is what several of them are made of.
"""
