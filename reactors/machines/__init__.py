"""A program on several machines: which, how they come together, and how it runs on them."""
