"""The command line: `emulate run scenario.yaml`, and the commands that help before and after it.

One module a command, under the command's name. `entry` gathers the commands.
"""

from .entry import main

__all__ = ["main"]
