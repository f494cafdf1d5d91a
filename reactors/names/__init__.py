"""What is said of a name that does not exist: a keyword, an attribute, something to import from a package.

Each message says what was meant, or what there is instead. Nothing here knows what the names stand for.
"""
