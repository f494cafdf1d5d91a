"""Environments: by name or made by the user, stepped in rows (`Simulation`), and as reactors (`rl.Env` and its kin).

Whatever can be wrong with an environment is found and named here. Nothing here acts, learns, or keeps experience.
"""
