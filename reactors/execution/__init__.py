"""What is alive while a program runs: ports, actions, clocks, and what debug mode looks at.

What comes out of a run is in `reports`; how worker processes are started is in `shipping`.
"""
