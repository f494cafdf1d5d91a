"""The contract of an algorithm: what the dataflow that trains it can rely on, and the checks of that.

`algorithm` has the base classes, `hyperparameters` what their fields may be; the other files are checks. Nothing here
knows a particular algorithm, or how a training is put together.
"""
