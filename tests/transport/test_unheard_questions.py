"""Messages with flipped bits of a device in quarantine, over real sockets: no answer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from emulator.core.wire.messages import Again, Hello, Message, Pull, Replies
from emulator.core.zmtp import Heartbeat
from emulator.transport import server_driver
from emulator.transport.peer import Peer
from emulator.transport.router import Router
from emulator.transport.secrets import issue
from emulator.vectors import Buffer
from emulator.world.faults.corrupt import Garbler

BEAT = Heartbeat()
pytestmark = pytest.mark.timeout(60)


@dataclass
class Suspicious:
    """A server that hears no more questions from the refusal number `deaf_after` on."""

    deaf_after: int
    wanted: int
    """Number of refusals after which the run is over."""
    refused: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return len(self.refused) >= self.wanted

    def hears(self, node: str) -> bool:
        return len(self.refused) < self.deaf_after

    def handle(self, node: str, message: Message, now: float) -> Replies:
        return []

    def refuse(self, node: str, reason: str, now: float) -> None:
        self.refused.append(reason)

    def unsent(self, unsent: Replies, now: float) -> None: ...

    def deadline(self) -> None:
        return None

    def tick(self, now: float) -> Replies:
        return []

    def end(self, reason: str, now: float) -> Replies:
        return []


class GarbleQuestions:
    """Flips bits in five messages after the hello, and in no answer."""

    def __init__(self) -> None:
        self._garbler, self._number = Garbler(1, "a", 0), 0

    def __call__(self, frames: Sequence[Buffer]) -> Sequence[Buffer]:
        self._number += 1
        return self._garbler.garble(frames) if 1 < self._number <= 6 else frames


def test_a_device_in_quarantine_is_not_told_to_ask_again() -> None:
    guests, secrets = issue(("a",), encrypt=False)
    with Router("tcp://127.0.0.1:*", guests, BEAT, largest=1000, checked=True) as router:
        garble = GarbleQuestions()
        with Peer(router.address, secrets["a"], BEAT, checked=True, garble=garble) as peer:
            peer.send(Hello("a", 0))
            for ticket in range(5):
                peer.send(Pull("a", ticket))
            server_driver.serve(Suspicious(deaf_after=3, wanted=5), router)
            words, until = 0, time.monotonic() + 10
            while words < 2 and time.monotonic() < until:
                words += isinstance(peer.receive(0.2), Again)
            assert (words, peer.receive(0.2)) == (2, None)
