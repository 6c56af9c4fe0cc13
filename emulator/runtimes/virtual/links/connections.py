"""The congestion windows of a group's TCP connections, in a direction."""

import math
from array import array
from collections.abc import Callable
from random import Random
from typing import NamedTuple, TypeAlias

from ....world.links.link import FRAME
from ....world.links.loss_models import Chain
from .burst_losses import BurstLosses
from .cubic import INITIAL, RESTART, SEGMENT, Regrowth
from .tcp import Tcp

Start: TypeAlias = tuple[float, Regrowth | None]
"""The window, and the regrowth after a time-out, when a message began or went on."""


class _Constants(NamedTuple):
    """The constants of a link for TCP."""

    tcp: Tcp
    rate: float
    """Bits of frames a second."""
    pace: float
    """Seconds for each byte of a message."""


class Connections:
    """A window per device, and the regrowth of the few devices with a time-out behind them.

    `number` is a device's index in the group. Windows are in arrays: an unused connection costs 16
    bytes.
    """

    def __init__(
        self, tcp: Tcp, rate: float, devices: int, losses: Callable[[int], Random]
    ) -> None:
        """Keep windows for `devices` links with `rate` bits of frames a second.

        `losses(number)` draws a device's losses in bursts.
        """
        self._losses, self._bursts = losses, dict[int, tuple[tuple[Chain, ...], BurstLosses]]()
        self._owed = dict[int, float]()
        self.rested = array("d", [-math.inf]) * devices
        """Time at which each connection last sent the end of a message."""
        self._common = _Constants(tcp, rate, 8 * FRAME / rate)
        self._own: dict[int, _Constants] = {}  # of the links that a fault has changed
        self._window = array("d", [INITIAL]) * devices
        self._regrowth: dict[int, Regrowth] = {}

    def open(self, number: int, size: int, now: float) -> tuple[float, float, Start]:
        """Begin a message of `size` bytes.

        Return the seconds that the link idles during the message, the bits that pass at once
        because an idle shaper has saved them up, and TCP's state at the beginning.
        """
        own, rest = self._of(number), now - self.rested[number]
        start = window, regrowth = self._wake(number, own, rest)
        idle = self._ramp(number, own, size, window, regrowth)
        return idle, own.tcp.credit(rest + idle), start

    def silence(self, number: int, size: int, behind: int) -> float:
        """Return the seconds for which bursts of losses silence TCP during `size` bytes, with
        `behind` bytes that wait behind them.
        """
        own = self._of(number)
        if not own.tcp.chains:
            return 0.0
        known = self._bursts.get(number)
        if known is None or known[0] != own.tcp.chains:  # a fault has changed the link
            bursts = BurstLosses(own.tcp.chains, self._losses(number))
            known = self._bursts[number] = own.tcp.chains, bursts
        packets, more = math.ceil(size / SEGMENT), math.ceil(behind / SEGMENT)
        silence = known[1].silence(packets, more, own.tcp.rtt, SEGMENT * own.tcp.pace)
        return self._owed.pop(number, 0.0) + silence

    def owe(self, number: int, silence: float) -> None:
        """Keep the `silence` left of a message that is given up: its burst waits for packets."""
        if silence:
            self._owed[number] = self._owed.get(number, 0.0) + silence

    def wait(self, number: int, now: float) -> Start:
        """Begin a message on a link that is cut; return TCP's state. `recover` goes on later."""
        start = self._wake(number, self._of(number), now - self.rested[number])
        self._window[number] = start[0]
        return start

    def stall(self, number: int, seconds: float, start: Start) -> None:
        """Stop at a cut, after TCP has been sending for `seconds` from `start` on."""
        (window, regrowth), tcp = start, self._of(number).tcp
        if regrowth is None:
            self._window[number] = tcp.widened(window, seconds)
        else:
            self._window[number] = regrowth.widened(window, seconds, tcp.pace, tcp.rtt)

    def reshape(self, number: int, tcp: Tcp | None, rate: float) -> None:
        """Give a link `tcp` and a `rate` of its own; without `tcp` it has those of the group."""
        if tcp is None:
            self._own.pop(number, None)
        else:
            self._own[number] = _Constants(tcp, rate, 8 * FRAME / rate)

    def go_on(self, number: int, size: float, start: Start) -> tuple[float, Start]:
        """Go on with `size` bytes left of a message that `stall` has stopped, on a changed link.

        Return the seconds that the link idles during the rest of the message, and TCP's state.
        """
        start = self._window[number], start[1]
        return self._ramp(number, self._of(number), size, *start), start

    def recover(self, number: int, size: float) -> tuple[float, Start]:
        """Go on after a time-out, with `size` bytes left.

        Return the seconds that the link idles during the rest of the message, and TCP's state.
        """
        struck, own = self._window[number], self._of(number)
        idle, self._window[number], regrowth = own.tcp.recover(size, own.pace, struck)
        self._note(number, regrowth)
        return idle, (RESTART, own.tcp.regrowth(struck))

    def reset(self, number: int) -> None:
        """Begin a new connection in place of the present connection."""
        self._window[number] = INITIAL
        self._regrowth.pop(number, None)
        if number in self._bursts:
            self._bursts[number][1].reset()

    def _wake(self, number: int, own: _Constants, rest: float) -> Start:
        """Return the connection's state after `rest` seconds without a message."""
        window, regrowth = self._window[number], self._regrowth.get(number)
        if regrowth is not None:
            regrowth = regrowth.begun(window)
        return own.tcp.window(window, rest), regrowth

    def _ramp(
        self, number: int, own: _Constants, size: float, window: float, regrowth: Regrowth | None
    ) -> float:
        """Widen the window from `window` by a message of `size` bytes.

        Return the seconds that the link idles meanwhile.
        """
        if regrowth is None:
            idle, self._window[number] = own.tcp.ramp(size, own.rate, window)
        else:
            idle, self._window[number], regrowth = regrowth.ramp(
                size, own.pace, own.tcp.rtt, window
            )
            self._note(number, regrowth)
        return idle

    def _of(self, number: int) -> _Constants:
        return self._own.get(number, self._common) if self._own else self._common

    def _note(self, number: int, regrowth: Regrowth | None) -> None:
        if regrowth is None:
            self._regrowth.pop(number, None)
        else:
            self._regrowth[number] = regrowth
