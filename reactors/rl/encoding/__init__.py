"""How values become files that others can read, without pickle, and are found to be what was written.

States as trees of JSON (`state`), arrays as safetensors (`tensors`), random numbers (`generators`), checksums
(`sealed`). What travels as one string of bytes, in logs and pipes, is the runtime's: `reactors_runtime.encoding`.
Nothing here knows whose state it is, or where files lie.
"""
