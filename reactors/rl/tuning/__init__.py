"""How the machine is best used for an algorithm in an environment."""
