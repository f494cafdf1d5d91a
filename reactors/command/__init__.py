"""The command line: what is typed becomes a call of a public function, and errors become a few lines.

What a command does, Python does, too. Nothing is decided here, and nothing imports from here.
"""
