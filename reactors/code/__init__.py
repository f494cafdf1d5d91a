"""What functions say of themselves, read from their code: without their source, and without running them.

Nothing here knows what a port or a reaction is: what is found is compared with what was declared in `model`.
"""
