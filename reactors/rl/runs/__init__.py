"""A run of training, from one call: its settings, its folder, its journal, and the policy that comes of it.

Arguments are checked here, before anything is made. How training is put together from reactors is in `dataflow`, and
what is learned in `algorithms`.
"""
