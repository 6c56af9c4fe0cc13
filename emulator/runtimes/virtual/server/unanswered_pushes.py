"""Repeats the last push of a node after a broken connection that may have lost the push.

As in containers (`transport/sent_pushes.py`): the answer to the next pull tells that a push came.
"""

from dataclasses import dataclass, field, replace

from ....core.wire.messages import Pull, Request, Score, Update, UpdateSegment


@dataclass(slots=True)
class _Sent:
    """The last pull and the last push of a node."""

    ticket: int = 0
    """Ticket of the last pull."""
    pushed: int = -1
    """Ticket of the pull that brought the model of `pushes`."""
    pushes: list[Request] = field(default_factory=list)
    broken: bool = False
    """Whether a connection has broken since the first of `pushes`."""


class UnansweredPushes:
    """Numbers the pushes of all nodes, and keeps the last push of each node."""

    def __init__(self) -> None:
        self._sent: dict[str, _Sent] = {}

    def before(self, message: Request) -> list[Request]:
        """Return the messages to send now, the last of which is `message`, numbered if a push."""
        sent = self._sent.setdefault(message.node, _Sent())
        if isinstance(message, Pull):
            sent.ticket = message.ticket
            if sent.broken:
                sent.broken = False
                return [*sent.pushes, message]
        elif isinstance(message, Update | UpdateSegment | Score):
            if isinstance(message, Update):
                message = replace(message, ticket=sent.ticket)
            if sent.pushed != sent.ticket:
                sent.pushed, sent.pushes, sent.broken = sent.ticket, [], False
            sent.pushes.append(message)
        return [message]

    def broke(self, node: str) -> None:
        """Note that a connection of `node` has broken."""
        self._sent.setdefault(node, _Sent()).broken = True
