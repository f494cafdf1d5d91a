"""How a program that runs comes to one state on disk, without pickle, and goes on from it.

Reactors that can be saved (`Stateful`), the one that saves them (`Checkpoint`), states as trees of JSON with arrays
beside them, and the folders that hold them. Nothing here knows what a state means, or of what training is made.
"""
