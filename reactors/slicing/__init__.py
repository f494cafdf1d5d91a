"""Which executions made a value: a slice of a run, backwards from a port or an attribute.

`observing` notes what each execution reads and changes, `slicer` follows that back, `slice` says what it has found.
"""
