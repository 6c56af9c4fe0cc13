"""The relay's part: passes messages between the devices of its host and the server."""

import signal
from typing import Any

from ...transport.relay import Uplink, relay
from ...transport.router import Router
from ...world.emulated_clock import EmulatedClock
from ..config import ENDINGS, PORT, RelayRole


def pass_on(part: RelayRole, clock: EmulatedClock) -> None:
    """Pass messages on until a signal ends this process."""
    canceled: list[Any] = []
    for number in ENDINGS.values():
        signal.signal(number, lambda *_: canceled.append(1))
    link = part.connection
    admitted = part.guests, link.heartbeat, part.largest, part.pieces
    with (
        Router(f"tcp://*:{PORT}", *admitted, clock=clock) as router,
        Uplink(link.address, link.secret, link.heartbeat, clock=clock) as uplink,
    ):
        relay(router, uplink, lambda: canceled, lambda line: print(line, flush=True))
        router.close(linger=2.0)
