"""Vector environments with Gymnasium's interface, whose environments are stepped by reactors in lock-step.

They are for code that is not made of reactors. Nothing here acts or learns, and training by `rl.train` does not use it.
"""
