"""A program on several machines: the links between them."""
