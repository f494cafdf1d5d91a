"""The command line. What it does, Python does too: nothing is decided here."""
