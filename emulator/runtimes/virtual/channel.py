"""The one way between the nodes and the server in virtual time: links, cuts and reconnects."""

import math
from collections.abc import Callable
from dataclasses import replace

from ...core import wire
from ...core.messages import Pull, Request
from .clock.heap import Heap
from .device.virtual_device import Incoming, VirtualDevice


class Channel:
    """Carries messages over the nodes' links, and detects time-outs of connections."""

    def __init__(self, clock: Heap, timeout: float, *, encrypted: bool, patches: bool) -> None:
        """Give a connection up once its device has been silent for `timeout` seconds.

        `encrypted` messages are longer on the wire. With `patches` each pull names the version of
        the model that the device holds, so that the server can answer with a patch.
        """
        self._clock, self._timeout = clock, timeout
        self._encrypted, self._patches = encrypted, patches
        self._serve: Callable[[Request], None] = _unconnected
        self._severed: set[str] = set()  # devices that are cut off
        self._frozen: set[str] = set()  # devices that are paused
        self._silent: dict[str, float] = {}  # device: since when the server hears nothing from it

    def connect(self, serve: Callable[[Request], None]) -> None:
        """Call `serve` with requests on arrival at the server."""
        self._serve = serve

    def request(self, device: VirtualDevice, message: Request) -> int:
        """Send `message` from `device` to the server; return its size in bytes."""
        if self._patches and isinstance(message, Pull):
            message = replace(message, held=device.held)
        size = wire.size(message, encrypted=self._encrypted)
        device.links.up.send(device.number, size, self._serve, message)
        return size

    def reply(self, device: VirtualDevice, incarnation: int, message: Incoming, size: int) -> None:
        """Send `message` of `size` bytes from the server to `incarnation` of `device`.

        A connection does not outlive its incarnation: nothing is sent if that has ended.
        """
        if incarnation == device.incarnation:
            device.links.down.send(device.number, size, device.hear, incarnation, message, size)

    def out_of_reach(self, device: VirtualDevice) -> bool:
        """Return whether `device` has been silent for longer than the time-out."""
        if not self._silent:
            return False
        return self._clock.now - self._silent.get(device.name, math.inf) >= self._timeout

    def sever(self, device: VirtualDevice) -> None:
        """Let nothing through to or from `device` until `mend`."""
        self._severed.add(device.name)
        self._silent.setdefault(device.name, self._clock.now)
        device.links.cut(device.number)

    def mend(self, device: VirtualDevice) -> None:
        """Let messages pass again, on a new connection if the last connection has timed out."""
        self._severed.discard(device.name)
        if device.name not in self._frozen:
            self._go_on(device, severed=True)
        elif not self.out_of_reach(device):
            device.links.mend(device.number)
        # else the device needs a new connection, which it makes once it thaws

    def freeze(self, device: VirtualDevice) -> None:
        """Let `device` answer no heartbeat until `thaw`; the device's kernel works on."""
        self._frozen.add(device.name)
        self._silent.setdefault(device.name, self._clock.now)

    def thaw(self, device: VirtualDevice) -> None:
        """Let `device` answer again, on a new connection if the last connection has timed out."""
        if device.name not in self._frozen:  # it has booted since
            return
        self._frozen.discard(device.name)
        if device.name not in self._severed:
            self._go_on(device, severed=False)

    def close(self, device: VirtualDevice) -> None:
        """Drop the connection and every message not sent yet, as after a loss of power."""
        device.links.drop(device.number)
        self._severed.discard(device.name)
        self._frozen.discard(device.name)
        self._silent.pop(device.name, None)

    def _go_on(self, device: VirtualDevice, *, severed: bool) -> None:
        """End the silence of `device`; `severed` says that the links were cut until now."""
        gave_up = self.out_of_reach(device)
        del self._silent[device.name]
        if gave_up:
            if not device.links.reconnect(device.number):
                # the device's last question has left already, and its answer is lost
                device.renew()
        elif severed:
            device.links.mend(device.number)


def _unconnected(message: Request) -> None:
    raise RuntimeError("the channel is not connected to a server")
