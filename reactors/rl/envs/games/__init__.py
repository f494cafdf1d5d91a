"""Games by name: makers that prepare them for learners, with each step of that as an option."""
