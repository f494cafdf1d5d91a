"""What do the journals of runs say, and where do two of them part?

`rx.run(journal="a.rxj")` writes one (csrc/journal.c): for each execution of a reaction its tag, which ports were there,
and a hash of what it wrote. Here they are read and compared, and nothing is run or unpickled.
"""
