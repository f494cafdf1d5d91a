"""The dataflow of training: few reactors, which all algorithms share, and graphs of them."""
