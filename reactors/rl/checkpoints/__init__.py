"""How a program that runs comes to one state on disk, without pickle, and goes on from it."""
