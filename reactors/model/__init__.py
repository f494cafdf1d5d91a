"""What users write: reactors, their ports, actions, timers, modes and reactions, and the connections between them.

At the bottom is the common part of all declarations (`declaration`), above it are modes, actions, connections, ports
and reactions, then the checks of a whole class (`classbody`), and on top reactors and banks. Lower files know a reactor
as its `Owner`. Mistakes in one class or one call are found here. Nothing here knows a whole program or a graph.
"""
