"""`python -m emulator`: the command line, where no shell finds the command `emulate`."""

from .cli import main

if __name__ == "__main__":
    main()
