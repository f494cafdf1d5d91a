"""What is alive while a program runs: a session for each worker, ports, actions, clocks, and debug mode.

Workers of this process are run here, those in processes of their own in `shipping`. What comes out is in `reports`.
"""
