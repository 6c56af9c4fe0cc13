"""Recognises repeated pushes: a node cannot know whether a push arrived before a crash."""

from typing import Any

from ..wire.messages import Message, Update, UpdateSegment


class SeenPushes:
    """The last push of each node, by the ticket of the pull that brought the model.

    Tickets ascend over all incarnations of a node, so a push with an earlier ticket is old, and a
    push with the same ticket, or piece of one, is the same. Scores are no pushes: the server knows
    the last version that it has a score of. Memory: a few numbers for each node.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, set[int]]] = {}

    def repeats(self, message: Message) -> bool:
        """Return whether `message` repeats a push; otherwise note the push."""
        key = _key(message)
        if key is None:
            return False
        node, ticket, piece = key
        if self.knows(message):
            return True
        last, pieces = self._last.get(node, (-1, set()))
        if ticket > last:
            self._last[node] = ticket, {piece}
        else:
            pieces.add(piece)
        return False

    def knows(self, message: Message) -> bool:
        """Return whether `message` is a push, or a piece of one, that was noted."""
        key = _key(message)
        if key is None:
            return False
        node, ticket, piece = key
        last, pieces = self._last.get(node, (-1, set()))
        return ticket < last or (ticket == last and piece in pieces)

    def refused(self, message: Message) -> None:
        """Forget the pieces of the update of which the server refused `message`, a piece.

        The server has dropped them, and the device may send all of them again. A whole update that
        was refused stays known: it would be refused again.
        """
        if isinstance(message, UpdateSegment):
            last, _ = self._last.get(message.node, (-1, set()))
            if message.ticket == last:
                self._last[message.node] = last, set()

    def plain(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {node: [ticket, sorted(pieces)] for node, (ticket, pieces) in self._last.items()}

    state = plain

    def restore(self, plain: dict[str, Any]) -> None:
        """Go on from `plain`, which `plain` has returned."""
        self._last = {node: (ticket, set(pieces)) for node, (ticket, pieces) in plain.items()}


def _key(message: Message) -> tuple[str, int, int] | None:
    """Return node, ticket and first layer of a push that has a ticket; None for other messages."""
    match message:
        case Update(node=node, ticket=int(ticket)):
            return node, ticket, 1
        case UpdateSegment(node=node, ticket=ticket, segment=(first, _)):
            return node, ticket, first
    return None
