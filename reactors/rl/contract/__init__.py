"""The contract of an algorithm: what it is to the dataflow that trains it, and the checks that it is that.

`algorithm` has the base classes, `hyperparameters` what their fields may be; the other files are checks. Nothing here
knows a particular algorithm, or how a training is put together.
"""
