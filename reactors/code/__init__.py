"""What functions say of themselves, read from their bytecode: what they do with `self`, and which globals they set.

No source is needed, and nothing is run. Nothing here knows what a port or a reaction is: `model` compares what is found
with what was declared.
"""
