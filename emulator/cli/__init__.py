"""The command line: `emulate run scenario.yaml`, and the commands that help before and after it.

One module a command, under the command's name. `entry` gathers the commands.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the typed command.

    The commands are imported here, so that Ctrl-C ends their import with one line, too.
    """
    try:
        from .entry import main as typed
    except KeyboardInterrupt:
        sys.stderr.write("emulate: interrupted\n")
        sys.exit(130)
    typed()
