"""The first process of the box's container: the box, for as long as the conductor lives.

Run as `python3 -m emulator.node.link.box_life ARGUMENTS`, with the arguments of
`emulator.shaping.box`.
When standard input ends, the conductor is gone, and the box is asked to end.
"""

import os
import signal
import sys

BOX = "emulator.shaping.box"


def main() -> None:
    """Become the box, and leave a child that watches standard input."""
    box = os.getpid()
    if os.fork() == 0:
        watch(box)
        os._exit(0)
    os.execv(sys.executable, [sys.executable, "-m", BOX, *sys.argv[1:]])


def watch(box: int) -> None:
    """Ask the process `box` to end once standard input does."""
    while os.read(0, 4096):
        pass
    os.kill(box, signal.SIGTERM)


if __name__ == "__main__":
    main()
