"""Pushes of a node whose arrival no answer has confirmed yet.

A push has no answer of its own: the answer to the next pull tells that it arrived. If the
connection breaks before, nobody knows, and the push is sent again before the pull. The server knows
a push that it has by its ticket.
"""

from dataclasses import replace

from ..core.wire.messages import (
    Message,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    Request,
    Score,
    Update,
    UpdateSegment,
)
from .peer import Peer


class SentPushes:
    """Sends the messages of a node over `peer`, pushes with a number, and again if need be."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._ticket: int | None = None  # of the last pull
        self._pushes: list[Request] = []  # since the last model came
        self._breaks = peer.breaks  # broken connections by then
        self.model_breaks = peer.breaks
        """Broken connections by the time when the last model came."""

    def send(self, message: Request) -> Request:
        """Send `message`, a push with its ticket; return the sent message."""
        self._peer.look()
        if isinstance(message, Pull):
            self._ticket = message.ticket
            self._peer.put([*self._lost(), message])
            return message
        if isinstance(message, Update):
            message = replace(message, ticket=self._ticket)
        if isinstance(message, Update | UpdateSegment | Score):
            if not self._pushes:
                self._breaks = self._peer.breaks
            self._pushes.append(message)
        self._peer.put([message])
        return message

    def took(self, message: Message) -> None:
        """Note an answer of the server: with the model of the last pull all pushes have arrived."""
        models = ModelReply | Patch | ModelSegment | PatchSegment
        if isinstance(message, models) and message.ticket == self._ticket:
            self._pushes.clear()
            self.model_breaks = self._peer.breaks

    def _lost(self) -> list[Request]:
        """Return the pushes that a broken connection may have lost."""
        if self._breaks == self._peer.breaks:
            return []
        self._breaks = self._peer.breaks
        return self._pushes
