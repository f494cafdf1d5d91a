"""Runs a plain graph of integers on a C core, on one worker or many; knows no reactor class and no RL."""
