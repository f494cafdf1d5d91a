"""A run of training, from one call: its settings, its folder, its journal, and the policy that comes of it."""
