"""What users write: reactors, their ports, actions, timers, modes and reactions, and how they are wired.

Nothing here knows of a graph or of a run. What code says of itself is read here, too: bytecode, code_check, port_types
and global_names.
"""
