"""Networks, how they are stacked and initialised, and how their weights travel. Own algorithms take them from here.

Small ones act in NumPy, all learn in torch. Nothing here knows an algorithm, an environment or a worker.
"""

from reactors.rl.networks.layers import Adam, Flat, Inference, alone, descend, inputs_of, mlp

__all__ = ["Adam", "Flat", "Inference", "alone", "descend", "inputs_of", "mlp"]
