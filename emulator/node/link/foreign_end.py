"""The near end of a link of a foreign container: the first process of a sidecar in its network.

Run as `python3 -m emulator.node.link.foreign_end NAME LINK BACKEND`, with the container's name,
which names the random draws of its link, and the link and the mechanisms as JSON. SIGTERM undoes
the link, and ends the process.
"""

import json
import signal
import sys
from collections.abc import Callable

from ...errors import DeploymentError
from ...shaping import access
from ...shaping.backend import Backend, boxed
from ...shaping.box import attachment
from ...shaping.command import apply
from ...world.links import reshaping
from ...world.links.link import Link
from ..config import BOX

STANDS = "ready"
"""Line that says that the link stands."""


def main() -> int:
    """Make this network the near end of the link until SIGTERM; return the exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    name, plain, means = sys.argv[1:]
    link, backend = reshaping.read(json.loads(plain)), Backend.read(json.loads(means))
    try:
        undo = _behind_box(name, link, backend) if boxed(link, backend) else _shaped(link, backend)
        print(STANDS, flush=True)
        signal.sigwait({signal.SIGTERM})
        undo()
    except DeploymentError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _behind_box(name: str, link: Link, backend: Backend) -> Callable[[], None]:
    """Put this network behind the box under `name`; return the function that undoes it."""
    box = attachment.connect(BOX)
    own = attachment.attach(box, name, link, backend)
    return lambda: attachment.detach(box, name, own)


def _shaped(link: Link, backend: Backend) -> Callable[[], None]:
    """Let the kernel shape this network; return the function that undoes it."""
    apply(access.shape(link, backend))

    def undo() -> None:
        apply(access.clear())

    return undo


if __name__ == "__main__":
    sys.exit(main())
