"""Learners as reactors: one, several that exchange gradients, those with loaders, and those that adapt to the machine.

They get experience on ports and give weights. What an update does is the algorithm's (`algorithms`); where experience
comes from and where weights go is said in `dataflow`, which nothing here may import.
"""
