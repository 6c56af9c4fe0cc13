"""The near end of a link of a foreign container: the first process of a sidecar in its network.

Run as `python3 -m emulator.node.link.foreign_end NAME LINK BACKEND`, with the container's name,
which names the random draws of its link, and the link and the mechanisms as JSON. SIGTERM undoes
the link, and ends the process.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import NamedTuple

from ...errors import DeploymentError
from ...shaping import access
from ...shaping.backend import Backend, boxed
from ...shaping.box import attachment, departure_watch, rewiring
from ...shaping.command import apply
from ...world.links import reshaping
from ...world.links.link import Link
from ..config import BOX

STANDS = "ready"
"""Line that says that the link stands."""


DEVICE = "eth0"


class NearEnd(NamedTuple):
    """What is to be done at the end of a link, and when the engine takes the container away."""

    undo: Callable[[], None]
    leave: Callable[[], None] = lambda: None
    """Called once the container's device is gone."""


def main() -> int:
    """Make this network the near end of the link until SIGTERM; return the exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    name, plain, means = sys.argv[1:]
    link, backend = reshaping.read(json.loads(plain)), Backend.read(json.loads(means))
    try:
        end = _behind_box(name, link, backend) if boxed(link, backend) else _shaped(link, backend)
        watching = departure_watch.watch()
        print(STANDS, flush=True)
        _wait(watching, end.leave)
        end.undo()
    except DeploymentError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _wait(watching: int, leave: Callable[[], None]) -> None:
    """Wait for SIGTERM, which is blocked so far; call `leave` when the device is gone.

    `watching`: socket that reports changes of devices.
    """
    terminated, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    while terminated not in select.select([terminated, watching], [], [])[0]:
        departure_watch.has_departed(watching, DEVICE)  # reads the reports
        if not departure_watch.is_here(DEVICE):  # renamed, and then deleted
            leave()


def _behind_box(name: str, link: Link, backend: Backend) -> NearEnd:
    """Put this network behind the box under `name`."""
    box = attachment.connect(BOX)
    own = attachment.attach(box, name, link, backend, DEVICE)

    def leave() -> None:
        """Delete the wire if the container was stopped or taken off its network.

        The engine then takes the device of the container's name, the TAP, and leaves the wire:
        other hosts would go on sending through the wire to a container that is started again with
        the same address. A box that died took the TAP, too, and the wire is needed to undo that.
        """
        try:
            attachment.report(box, name)
        except DeploymentError:
            return
        apply(rewiring.cut_off())

    return NearEnd(lambda: attachment.detach(box, name, own, DEVICE), leave)


def _shaped(link: Link, backend: Backend) -> NearEnd:
    """Let the kernel shape this network."""
    apply(access.shape(link, backend))

    def undo() -> None:
        apply(access.clear())

    return NearEnd(undo)


if __name__ == "__main__":
    sys.exit(main())
