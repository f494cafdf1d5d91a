"""What looks at training and changes nothing of it: the journal and its file, evaluation, views and videos.

All of it may be left out of a program, and what is learned stays the same. Checkpoints, from which runs go on, are in
`checkpoints`.
"""
