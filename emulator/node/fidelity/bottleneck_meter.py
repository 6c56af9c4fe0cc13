"""Measures a bottleneck from inside its gateway: the rates while packets wait, and the traffic."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from ...shaping import gateway
from ...world.emulated_clock import EmulatedClock
from ...world.links.link import WAYS
from ...world.links.reshaping import read
from ..config import NodeConfig
from ..interface import SAMPLING, device_bytes
from ..reports import LinkReport, NodeReport, TrafficReport
from .queue_counters import Queue, QueueReader
from .rate_meter import RateMeter

Say: TypeAlias = Callable[[NodeReport], None]

WINDOW = 10.0
"""Seconds that a report covers."""
_DEVICES = dict(zip(WAYS, (gateway.UP, gateway.DOWN), strict=True))


class BottleneckMeter:
    """Measures the rate that each rated direction of a bottleneck achieves, and counts the bytes of
    both directions."""

    def __init__(self, node: NodeConfig) -> None:
        assert node.network.measured is not None
        link = read(node.network.measured.link)
        sides = dict(zip(WAYS, (link.up, link.down), strict=True))
        self._asked = {way: float(side.rate) for way, side in sides.items() if side.rate}
        self._clock: EmulatedClock = node.clock
        self._rates = {way: RateMeter() for way in self._asked}
        self._begun = self._sample_due = self._clock.now()
        self._reader: QueueReader | None = None
        with suppress(OSError):  # not on this kernel: nothing is measured
            self._reader = QueueReader()

    def rest(self) -> float:
        """Return the real seconds until `tick` is due."""
        dues = [self._sample_due]
        if self._reader is not None:
            dues += [self._begun + WINDOW, *(meter.due for meter in self._rates.values())]
        return max(0.0, self._clock.real(min(dues) - self._clock.now()))

    def tick(self, say: Say) -> None:
        """Look at the queues that are due, and `say` what was counted, and what was measured if a
        window is over."""
        now = self._clock.now()
        if now >= self._sample_due:
            self._sample_due = now + SAMPLING
            _say_traffic(say)
        self._look(now)
        if self._reader is not None and now >= self._begun + WINDOW:
            self._report(now, say)

    def end(self, say: Say) -> None:
        """Report with `say` what was counted and measured since the last report."""
        _say_traffic(say)
        if self._reader is None:
            return
        now = self._clock.now()
        for meter in self._rates.values():
            meter.look(now, None, None)  # ends a stretch in which packets wait
        self._report(now, say)

    def _look(self, now: float) -> None:
        """Look at the queues that are due at the time `now`."""
        reader = self._reader
        due = [way for way, meter in self._rates.items() if now >= meter.due]
        if due and reader is not None:
            try:
                queues = reader.read()
            except OSError:
                self._reader = None
                reader.close()
                return
            seen = self._clock.now()  # on a busy host later than `now`
            for way in due:
                self._rates[way].look(seen, _whole(queues, _DEVICES[way]), self._asked[way])

    def _report(self, now: float, say: Say) -> None:
        lasts, self._begun = now - self._begun, now
        for way, asked in self._asked.items():
            busy = self._rates[way].take()
            rate = round(busy.bits / busy.seconds, 1) if busy.seconds else None
            measured = round(lasts, 3), round(busy.seconds, 3), rate
            say(LinkReport(way, *measured, requested_rate=round(asked, 1)))


def _say_traffic(say: Say) -> None:
    """Report with `say` the bytes to the members (rx) and to the server (tx), as of a device."""
    with suppress(OSError):  # the devices are gone: the container ends
        say(TrafficReport(device_bytes(gateway.DOWN), device_bytes(gateway.UP)))


def _whole(queues: list[Queue], device: str) -> Queue | None:
    """Return the queue of `device` that counts the packets of all members: htb, or else tbf."""
    with suppress(OSError):
        index = socket.if_nametoindex(device)
        own = [each for each in queues if each.interface == index and each.kind in ("htb", "tbf")]
        return min(own, key=lambda each: each.kind, default=None)  # htb comes first
    return None
