"""`python -m reactors`: the command `reactors`."""

from reactors.command.cli import main

if __name__ == "__main__":
    main()
