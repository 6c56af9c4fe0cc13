"""Flipped bits in the messages of virtual devices: encoded, garbled and decoded as on a wire.

Messages without values (`virtual.learner: none`) cannot be encoded: those drawn are refused.
"""

from ....core import wire
from ....core.wire import checksum
from ....core.wire.messages import Request
from ....errors import WireError
from ....world.faults.garbling import VERB, Garbler
from .virtual_device import VirtualDevice


class Garbling:
    """Flips bits in messages of the devices under the fault `corrupt`."""

    def __init__(self, seed: int, *, sized: bool) -> None:
        """`seed` is the run's; `sized`: whether messages have sizes only, and no values."""
        self._seed, self._sized = seed, sized
        self._garblers: dict[str, tuple[int, Garbler]] = {}  # with the incarnation, by device

    def flip(self, device: VirtualDevice, message: Request) -> str:
        """Return why the server refuses `message` of `device`; empty if no bit is flipped."""
        if not self.strikes(device):
            return ""
        if self._sized:
            return checksum.MISMATCH
        garbler = self._garbler(device)
        try:
            wire.unpack(checksum.opened(garbler.garble(checksum.sealed(wire.pack(message)))))
        except WireError as error:
            return str(error)
        return ""

    def strikes(self, device: VirtualDevice) -> bool:
        """Draw whether bits of the next message of `device` are flipped."""
        setting = device.played.settings.get(VERB) if device.played else None
        return setting is not None and self._garbler(device).strikes(setting)

    def _garbler(self, device: VirtualDevice) -> Garbler:
        incarnation, garbler = self._garblers.get(device.name, (-1, None))
        if garbler is None or incarnation != device.incarnation:
            garbler = Garbler(self._seed, device.name, device.incarnation)
            self._garblers[device.name] = device.incarnation, garbler
        return garbler
