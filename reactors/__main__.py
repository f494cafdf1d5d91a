"""`python -m reactors`: the command `reactors`."""

from reactors.cli import main

if __name__ == "__main__":
    main()
