"""What does a run look like, while it runs and afterwards: in a terminal, in a browser, in a file?"""
