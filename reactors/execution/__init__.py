"""What is alive while a program runs.

Ports through which reactions read and write, clocks, what debug mode looks at, logs, progress, and the result. How
workers are started is in `run`, `stepwise` and `shipping`.
"""
