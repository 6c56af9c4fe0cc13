"""The TCP connections of devices alike, in one direction: how wide each one's window stands."""

import math
from array import array
from typing import TypeAlias

from ....world.link import FRAME
from .cubic import Regrowth, recover
from .tcp import INITIAL, RESTART, Tcp

Start: TypeAlias = tuple[float, Regrowth | None]
"""Window and regrowth when a message began or went on."""


class Connections:
    """A window for each device, known by number; what a time-out leaves, for the few that had one.

    A line that has never been used costs a few bytes, so windows are in arrays.
    """

    def __init__(self, tcp: Tcp, rate: float, devices: int) -> None:
        """`rate`: bits of frames a second that each has to itself."""
        self.tcp = tcp
        self.rested = array("d", [-math.inf]) * devices
        """When each connection last sent a message to its end."""
        self._rate, self._pace = rate, 8 * FRAME / rate
        self._window = array("d", [INITIAL]) * devices
        self._regrowth: dict[int, Regrowth] = {}

    def open(self, who: int, size: int, now: float) -> tuple[float, float, Start]:
        """Begin a message of `size` bytes: the link's idle seconds, the bits that pass at once.

        The shaper has saved these up while the link was idle.
        """
        rest = now - self.rested[who]
        start = window, regrowth = self._wake(who, rest)
        if regrowth is None:
            idle, self._window[who] = self.tcp.ramp(size, self._rate, window)
        else:
            ramp = regrowth.ramp(size, self._pace, self.tcp.rtt, window)
            idle, self._window[who], regrowth = ramp
            self._note(who, regrowth)
        return idle, self.tcp.credit(rest + idle), start

    def wait(self, who: int, now: float) -> Start:
        """Begin a message in vain, as the link is cut; `recover` goes on."""
        start = self._wake(who, now - self.rested[who])
        self._window[who] = start[0]
        return start

    def stall(self, who: int, seconds: float, start: Start) -> None:
        """Note that the link was cut when TCP had been sending for `seconds` since `start`."""
        window, regrowth = start
        if regrowth is None:
            self._window[who] = self.tcp.widened(window, seconds)
        else:
            self._window[who] = regrowth.widened(window, seconds, self.tcp.pace, self.tcp.rtt)

    def recover(self, who: int, size: float) -> tuple[float, Start]:
        """Go on after a time-out with the `size` bytes that are left: the link's idle seconds."""
        struck = self._window[who]
        idle, self._window[who], regrowth = recover(size, self._pace, self.tcp.rtt, struck)
        self._note(who, regrowth)
        return idle, (RESTART, Regrowth.after(struck))

    def reset(self, who: int) -> None:
        """Replace the connection by a new one."""
        self._window[who] = INITIAL
        self._regrowth.pop(who, None)

    def _wake(self, who: int, rest: float) -> Start:
        """Return where a connection stands after `rest` seconds without a message."""
        window, regrowth = self._window[who], self._regrowth.get(who)
        if regrowth is not None:
            regrowth = regrowth.begun(window)
        return self.tcp.window(window, rest), regrowth

    def _note(self, who: int, regrowth: Regrowth | None) -> None:
        if regrowth is None:
            self._regrowth.pop(who, None)
        else:
            self._regrowth[who] = regrowth
