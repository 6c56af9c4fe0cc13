"""Pushes and scores that a broken connection may have lost are sent again before the next pull."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emulator.core import wire
from emulator.core.wire.messages import (
    ModelReply,
    ModelSegment,
    Patch,
    Pull,
    Request,
    Score,
    Update,
    UpdateSegment,
)
from emulator.core.worker.worker import tickets
from emulator.transport.node_driver import SentPushes


class Connection:
    """A peer that breaks when a test says so."""

    def __init__(self) -> None:
        self.breaks = 0
        self.sent: list[Request] = []

    def look(self) -> None:
        """Notice no break: a test has counted it."""

    def put(self, messages: list[Request]) -> None:
        self.sent.extend(messages)


PUSHES: dict[str, list[Request]] = {
    "update": [Update("a", 4, 0.5, 0.01, [b"frame"])],
    "pieces": [UpdateSegment("a", 4, 7, (n, n), 0.5, 0.01, [b"frame"]) for n in (2, 1)],
    "score": [Score("a", 4, 0.9, 1.0)],
}
ANSWERS: list[Callable[[int], Any]] = [
    lambda ticket: ModelReply(ticket, 5, np.zeros(4, np.float32)),
    lambda ticket: ModelSegment(ticket, 5, (1, 1), np.zeros(4, np.float32)),
    lambda ticket: Patch(ticket, 5, 4, []),
]


@pytest.mark.parametrize("name", PUSHES)
def test_a_push_without_an_answer_is_sent_again_before_the_pull(name: str) -> None:
    peer: Any = Connection()
    pushes = SentPushes(peer)
    pushes.send(Pull("a", 7))
    pushes.took(ANSWERS[0](7))
    sent = [pushes.send(message) for message in PUSHES[name]]
    assert all(getattr(message, "ticket", 7) == 7 for message in sent)
    for ticket in (8, 9):  # the connection breaks before each answer
        peer.breaks += 1
        peer.sent.clear()
        pull = pushes.send(Pull("a", ticket))
        assert peer.sent == [*sent, pull]
    peer.sent.clear()
    pull = pushes.send(Pull("a", 10))  # over the same connection, which loses nothing
    assert peer.sent == [pull]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_to_the_last_pull_says_that_the_push_has_arrived(
    answer: Callable[[int], Any],
) -> None:
    peer: Any = Connection()
    pushes = SentPushes(peer)
    pushes.send(Pull("a", 7))
    (push,) = map(pushes.send, PUSHES["update"])
    pushes.send(Pull("a", 8))
    pushes.took(answer(7))  # it left before the push came
    peer.breaks += 1
    peer.sent.clear()
    pull = pushes.send(Pull("a", 9))
    assert peer.sent == [push, pull]
    pushes.took(answer(9))
    peer.breaks += 1
    peer.sent.clear()
    pull = pushes.send(Pull("a", 10))
    assert peer.sent == [pull]


def test_the_ticket_takes_the_bytes_of_the_page() -> None:
    """One to five, as numbers do in MessagePack, and nine of a device that has booted again."""
    plain, added = Update("a", 4, 0.5, 0.01, [b"frame"]), []
    for ticket in (next(tickets(0)), 1000, next(tickets(1)) - 1, next(tickets(1))):
        numbered = replace(plain, ticket=ticket)
        added.append(wire.size(numbered) - wire.size(plain))
    assert added == [1, 3, 5, 9]
