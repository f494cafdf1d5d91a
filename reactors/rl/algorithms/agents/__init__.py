"""Algorithms for many agents, one file each.

Each learns for a group of agents that share a network, as `contract.agents` describes. They know nothing of the
dataflow, of workers or of files. `team_network` has the parts that several of them share.
"""
