"""The network between each device and the server in virtual time, as faults act on it."""

import math

from .clock.heap import Heap
from .device.virtual_device import VirtualDevice


class Channel:
    """Cuts devices off and reconnects them; knows which connections have timed out."""

    def __init__(self, clock: Heap, timeout: float) -> None:
        """Give a device's connection up once it has been cut off for `timeout` seconds."""
        self._clock, self._timeout = clock, timeout
        self._severed: dict[str, float] = {}  # device: the moment since which it is cut off

    def out_of_reach(self, device: VirtualDevice) -> bool:
        """Return whether `device` has been cut off so long that its connection is given up."""
        if not self._severed:
            return False
        return self._clock.now - self._severed.get(device.name, math.inf) >= self._timeout

    def sever(self, device: VirtualDevice) -> None:
        """Let nothing through to `device` or from it until `mend`."""
        self._severed[device.name] = self._clock.now
        device.links.cut(device.number)

    def mend(self, device: VirtualDevice) -> None:
        """Let messages pass again, on a new connection if the one that was cut has timed out."""
        gave_up = self.out_of_reach(device)
        del self._severed[device.name]
        if not gave_up:
            device.links.mend(device.number)
        elif not device.links.reconnect(device.number):  # else its last question is yet to leave
            device.renew()

    def close(self, device: VirtualDevice) -> None:
        """Drop the connection and all that has not left, as when the device loses power."""
        device.links.drop(device.number)
        self._severed.pop(device.name, None)
