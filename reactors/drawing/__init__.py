"""Pictures of a graph: what is shown (`folding`, `symbols`, `diagram`), and how it is written (`dot`, `mermaid`).

A graph is read through a Protocol (`records`) and never changed. Nothing here elaborates or runs a program.
"""
