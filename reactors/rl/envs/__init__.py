"""Environments as reactors, by name or made by the user, and what steps them."""
