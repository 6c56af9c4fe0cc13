"""The command line: `emulate run scenario.yaml`, and the commands that help before and after it.

One module a command, under the command's name. `entry` gathers the commands.
"""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the typed command.

    From the first moment on SIGTERM and SIGHUP end a command as Ctrl-C does: with one line and exit
    code 130. The commands are imported here, so that their import ends so, too.
    """
    try:
        _end_as_by_ctrl_c()
        from .entry import main as typed

        typed()
    except KeyboardInterrupt:
        sys.stderr.write("emulate: interrupted\n")
        sys.exit(130)


def _end_as_by_ctrl_c() -> None:
    """Raise KeyboardInterrupt at SIGTERM and SIGHUP, unless they are ignored, as under `nohup`."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
