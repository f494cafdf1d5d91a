"""What a run reports: its progress, its result as data and as text, its timeline, its log, and hints.

Nothing here runs or binds anything: it reads the program, and the arena of a run that goes on or is over.
"""
