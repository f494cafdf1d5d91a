"""What users write: reactors, their ports, actions, timers, modes and reactions, and how they are wired.

At the bottom is what all declarations have in common (`declaration`), above it modes, actions, connections, ports and
reactions, then the checks of a whole class (`classbody`), and on top reactors and banks; what is below knows a reactor
as its `Owner`. What is wrong with one class or one call is found here. Nothing here knows a whole program or a graph.
"""
