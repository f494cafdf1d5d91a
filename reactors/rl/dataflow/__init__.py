"""The reactors that training is made of, which all algorithms share, and the graphs of them."""
