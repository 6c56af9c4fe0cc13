"""The congestion windows of a group's TCP connections, in a direction."""

import math
from array import array
from typing import TypeAlias

from ....world.link import FRAME
from .cubic import Regrowth, recover
from .tcp import INITIAL, RESTART, Tcp

Start: TypeAlias = tuple[float, Regrowth | None]
"""The window, and the regrowth after a time-out, when a message began or went on."""


class Connections:
    """A window per device, and the regrowth of the few devices with a time-out behind them.

    `number` is a device's index in the group. Windows are in arrays: an unused connection costs 16
    bytes.
    """

    def __init__(self, tcp: Tcp, rate: float, devices: int) -> None:
        """Keep windows for `devices` links with `rate` bits of frames a second."""
        self.tcp = tcp
        self.rested = array("d", [-math.inf]) * devices
        """Time at which each connection last sent the end of a message."""
        self._rate, self._pace = rate, 8 * FRAME / rate  # pace: seconds for each byte of a message
        self._window = array("d", [INITIAL]) * devices
        self._regrowth: dict[int, Regrowth] = {}

    def open(self, number: int, size: int, now: float) -> tuple[float, float, Start]:
        """Begin a message of `size` bytes.

        Return the seconds that the link idles during the message, the bits that pass at once
        because an idle shaper has saved them up, and TCP's state at the beginning.
        """
        rest = now - self.rested[number]
        start = window, regrowth = self._wake(number, rest)
        if regrowth is None:
            idle, self._window[number] = self.tcp.ramp(size, self._rate, window)
        else:
            ramp = regrowth.ramp(size, self._pace, self.tcp.rtt, window)
            idle, self._window[number], regrowth = ramp
            self._note(number, regrowth)
        return idle, self.tcp.credit(rest + idle), start

    def wait(self, number: int, now: float) -> Start:
        """Begin a message on a link that is cut; return TCP's state. `recover` goes on later."""
        start = self._wake(number, now - self.rested[number])
        self._window[number] = start[0]
        return start

    def stall(self, number: int, seconds: float, start: Start) -> None:
        """Stop at a cut, after TCP has been sending for `seconds` from `start` on."""
        window, regrowth = start
        if regrowth is None:
            self._window[number] = self.tcp.widened(window, seconds)
        else:
            self._window[number] = regrowth.widened(window, seconds, self.tcp.pace, self.tcp.rtt)

    def recover(self, number: int, size: float) -> tuple[float, Start]:
        """Go on after a time-out, with `size` bytes left.

        Return the seconds that the link idles during the rest of the message, and TCP's state.
        """
        struck = self._window[number]
        idle, self._window[number], regrowth = recover(size, self._pace, self.tcp.rtt, struck)
        self._note(number, regrowth)
        return idle, (RESTART, Regrowth.after(struck))

    def reset(self, number: int) -> None:
        """Begin a new connection in place of the present connection."""
        self._window[number] = INITIAL
        self._regrowth.pop(number, None)

    def _wake(self, number: int, rest: float) -> Start:
        """Return the connection's state after `rest` seconds without a message."""
        window, regrowth = self._window[number], self._regrowth.get(number)
        if regrowth is not None:
            regrowth = regrowth.begun(window)
        return self.tcp.window(window, rest), regrowth

    def _note(self, number: int, regrowth: Regrowth | None) -> None:
        if regrowth is None:
            self._regrowth.pop(number, None)
        else:
            self._regrowth[number] = regrowth
