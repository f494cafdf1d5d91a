"""How the part of a program that a worker process runs gets there, and what its reactors have become gets back."""
