"""What is said of a name that does not exist: of a keyword, of an attribute, of what a package has.

Each message says what was meant, or what there is instead. Nothing here knows what the names stand for.
"""
