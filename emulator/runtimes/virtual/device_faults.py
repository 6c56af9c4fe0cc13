"""Faults in virtual time: verbs done to devices, as the timeline says or as a device draws them."""

from collections.abc import Callable

from ...faults import FAULTS
from ...log.writing import RunLog
from ...world.verbs import Action, Strikes, Verb
from .channel import Channel
from .clock.heap import Heap
from .device.virtual_device import VirtualDevice


class DevicePowers:
    """Does each verb to one device. `held` counts the faults that hold the device by then."""

    def __init__(self, channel: Channel, boot: Callable[[VirtualDevice], None]) -> None:
        """`boot` begins to boot a device, whose worker runs once that is done."""
        self._channel, self._boot = channel, boot

    def do(self, verb: Verb, device: VirtualDevice, held: Strikes) -> None:
        """Do `verb` to `device`."""
        methods = {"kill": self.kill, "start": self.start, "sever": self.sever, "mend": self.mend}
        methods[verb](device, held)

    def kill(self, device: VirtualDevice, held: Strikes) -> None:
        """End the device's worker and drop its connection."""
        device.die()
        self._channel.close(device)

    def start(self, device: VirtualDevice, held: Strikes) -> None:
        """Boot the device, cut off if a partition has begun or lasts."""
        if held.severed:
            self._channel.sever(device)
        self._boot(device)

    def sever(self, device: VirtualDevice, held: Strikes) -> None:
        """Cut the device off, unless it is down: then `start` does."""
        if not held.off:
            self._channel.sever(device)

    def mend(self, device: VirtualDevice, held: Strikes) -> None:
        """Let messages pass again, unless the device is down and has no connection."""
        if not held.off:
            self._channel.mend(device)


class DeviceFaults:
    """Counts the faults that hold each device, does the verbs that change something, logs them."""

    def __init__(
        self,
        powers: DevicePowers,
        clock: Heap,
        now: Callable[[], float],
        log: RunLog,
        lost: Callable[[str], None],
    ) -> None:
        """`now` returns emulated seconds into the run, `clock` counts from before it.

        `lost` is told the name of each device that draws a fault without an end.
        """
        self._powers, self._clock, self._now = powers, clock, now
        self._log, self._lost = log, lost
        self._held: dict[str, Strikes] = {}

    def perform(self, action: Action, device: VirtualDevice, planned: float) -> None:
        """Do what the timeline has planned for `planned` seconds into the run."""
        self._obey(device, action.verb, action.fault, planned)

    def draw(self, device: VirtualDevice) -> bool:
        """Draw whether a fault strikes in this iteration; return whether `device` is down now."""
        struck = device.hazard.strike() if device.hazard else None
        if struck is None:
            return False
        kind, lasts = struck
        fault = FAULTS[kind]()
        self._obey(device, fault.begin(device.name).verb, kind, self._now())
        if lasts is None:
            self._lost(device.name)
        else:
            end = fault.end(device.name).verb
            self._clock.at(self._clock.now + lasts, self._end, device, end, kind)
        return device.coroutine is None

    def _end(self, device: VirtualDevice, verb: Verb, kind: str) -> None:
        self._obey(device, verb, kind, self._now())

    def _obey(self, device: VirtualDevice, verb: Verb, fault: str, planned: float) -> None:
        held = self._held.setdefault(device.name, Strikes())
        if held.changes(verb):
            self._powers.do(verb, device, held)
            what = "boot" if verb == "start" else verb
            self._log.write(self._now(), what, node=device.name, fault=fault, planned=planned)
