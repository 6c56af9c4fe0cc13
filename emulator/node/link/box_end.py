"""The node's end of a link through the box, which holds the packets of all containers of a host."""

from typing import Any

from ...errors import DeploymentError
from ...shaping.backend import Backend
from ...shaping.box import attachment
from ...shaping.box.token_bucket import box_shapes
from ...shaping.playable_link import dilated, dilated_side
from ...world.links import reshaping
from ...world.links.link import WAYS, Link
from ..config import BOX, Boxed
from ..fidelity.queue_counters import Queue


class BoxEnd:
    """Puts this container's network behind the box, and changes the link there."""

    def __init__(self, node: str, boxed: Boxed) -> None:
        self._node, self._boxed = node, boxed
        self._backend = Backend.read(boxed.backend)

    def attach(self) -> None:
        """Let all packets of this network pass the box. Raises DeploymentError."""
        own = self._boxed
        self._box = attachment.connect(BOX)  # kept: the box takes changes from no other connection
        link = self._link = dilated(reshaping.read(own.link), own.dilation)
        beyond = [dilated_side(reshaping.read_side(side), own.dilation) for side in own.beyond]
        given = self._box, self._node, link, self._backend
        attachment.attach(*given, beyond=beyond, changing=own.changing)

    def change(self, old: Link, new: Link) -> None:
        """Turn the link `old` into `new`, both in real time; queued packets stay.

        Raises DeploymentError.
        """
        attachment.change(self._box, self._node, old, new, self._backend)
        self._link = new

    def losses(self) -> dict[str, tuple[int, int]]:
        """Return the frames of each direction, and how many of them the box lost or damaged.

        Empty if the box does not answer.
        """
        try:
            told = self._report()
            return {
                way: (told[way]["packets"], told[way]["lost"] + told[way]["corrupted"])
                for way in WAYS
            }
        except (KeyError, TypeError):
            return {}

    def queues(self) -> dict[str, Queue]:
        """Return the queue of each direction whose rate the box shapes; bytes with the overhead.

        Empty if the box does not answer.
        """
        sides = {way: getattr(self._link, way) for way in WAYS}
        shaped = [way for way, side in sides.items() if box_shapes(side, self._backend)]
        try:
            told = self._report() if shaped else {}
            return {
                way: Queue(0, "box", sent=told[way]["sent"], waiting=told[way]["waiting"])
                for way in shaped
            }
        except (KeyError, TypeError):
            return {}

    def _report(self) -> dict[str, Any]:
        """Return the counts of the box; empty if the box does not answer."""
        try:
            return attachment.report(self._box, self._node)
        except DeploymentError:
            return {}
