"""Rows of experience: the buffer, its memory, its sum tree, and how it is saved."""
