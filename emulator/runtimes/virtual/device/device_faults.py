"""Faults in virtual time: does verbs to devices, as the timeline or a device's draws ask.

Batteries switch devices off and on as faults do.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Protocol

from ....log.lines import RunLog, microseconds
from ....log.records import made
from ....log.records.fault_records import BatteryRecord, OverlapRecord
from ....scenario import Scenario
from ....scenario.cores_and_memory import WORKER
from ....units import Bytes
from ....world import verbs
from ....world.battery import BatteryConstants
from ....world.powers import FaultCounts, perform
from ....world.verbs import Action, Setting
from ..clock import Heap
from ..server.channel import Channel
from .device_battery import DeviceBattery
from .virtual_device import VirtualDevice


class DeviceMemory:
    """Knows the memory limits of the devices, and logs workers that the kernel would kill.

    A worker with its supervisor needs `WORKER` bytes, as `emulate check` counts them.
    """

    def __init__(self, scenario: Scenario, log: RunLog, now: Callable[[], float]) -> None:
        """`now` returns emulated seconds into the run."""
        self._scenario, self._log, self._now = scenario, log, now

    @cached_property
    def _limits(self) -> dict[str, int]:
        return {device.name: device.memory for device in self._scenario.nodes}

    def lacks(self, device: str, share: float) -> bool:
        """Return whether a worker of `device` lacks memory while a fault takes `share` of it."""
        limit = self._limits[device]
        return share * limit + WORKER > limit

    def kill(self, device: str) -> None:
        """Log that the worker of `device` was killed, in the words of a run in containers."""
        own = f"killed by its own memory limit of {Bytes(self._limits[device])}"
        reason = (
            f"{own}: if no fault `memory` took the rest, raise `memory` in the profile of {device}"
        )
        facts = {"node": device, "code": -9, "cause": "limit", "reason": reason}
        self._log.write(made("exit", self._now(), **facts))


def overlapped(action: Action, planned: float, now: float) -> OverlapRecord:
    """Return the record of an `action` of the timeline, due at `planned`, which began nothing, as
    another fault of its verb held the node."""
    return OverlapRecord(now, action.node, action.fault, action.verb, None, planned)


class CutOthers(Protocol):
    """Cuts the background traffic beside a device, or with `cut` False lets it pass again."""

    def __call__(self, device: str, *, cut: bool) -> None: ...


class DevicePowers:
    """Does the verbs to a device; `faults` counts the faults in force on the device."""

    def __init__(
        self,
        device: VirtualDevice,
        channel: Channel,
        boot: Callable[[VirtualDevice], None],
        memory: DeviceMemory,
        cut_others: CutOthers,
    ) -> None:
        """`boot` begins to boot a device; at the end of the boot the worker runs. `cut_others` cuts
        the background traffic beside a device, or lets it pass again."""
        self._cut_others = cut_others
        self._device, self._channel, self._boot, self._memory = device, channel, boot, memory
        self._share = 0.0  # of the memory limit, which a fault takes
        self.starved = False  # whether the worker was killed for want of memory, until `release`
        self.faults = FaultCounts()  # has counted a verb by the time when its method runs

    def kill(self) -> None:
        """End the device's worker and drop the connection; the device keeps nothing."""
        self._end("kill")
        self._channel.close(self._device)
        self._lose()

    def start(self) -> None:
        """Boot the device, cut off if a fault severs it, unless another fault keeps it off."""
        if self.starved:  # it boots in `release`
            return
        if self.faults.holds("sever"):
            self._channel.sever(self._device)
        if not self.faults.ended:
            self._boot(self._device)
            self._starve()

    def halt(self) -> None:
        """End the device's worker and drop the connection; the device keeps its state."""
        self._end("halt")
        self._channel.close(self._device)

    def reboot(self) -> None:
        """Boot the device from the state that it has kept."""
        self.start()

    def leave(self) -> None:
        """Let the device say goodbye over its link, and end its worker."""
        if not self._down("leave"):
            self._device.say_goodbye()
        self._end("leave")
        self._lose()

    def join(self) -> None:
        """Boot the device with a new connection, unless another fault keeps it off."""
        if not self.faults.ended:
            self._channel.close(self._device)
            self.start()

    def _end(self, verb: str) -> None:
        """End the device's worker for a fault of `verb`, unless another fault has ended it."""
        if not self._down(verb):
            self._device.die()

    def _down(self, verb: str) -> bool:
        """Return whether a fault of another verb, or want of memory, keeps the device off."""
        others = (row.name for row in verbs.VERBS if row.ends_process and row.name != verb)
        return self.starved or any(map(self.faults.holds, others))

    @property
    def _powerless(self) -> bool:
        return self.starved or self.faults.holds("kill") or self.faults.holds("halt")

    def _lose(self) -> None:
        if self._device.keeper is not None:
            self._device.keeper.state = None

    def sever(self) -> None:
        """Cut the device off; a device that is down is cut off by `start`."""
        self._cut_others(self._device.name, cut=True)
        if not self._powerless:
            self._channel.sever(self._device)

    def mend(self) -> None:
        """Let messages pass again; a device that is down has no connection to mend."""
        self._cut_others(self._device.name, cut=False)
        if not self._powerless:
            self._channel.mend(self._device)

    def reshape(self, setting: Setting) -> None:
        """Change the device's link; messages under way on it go on at the new rate."""
        self._device.links.reshape(self._device.number, setting)

    def restore(self) -> None:
        """Give the device its own link again."""
        self._device.links.reshape(self._device.number, None)

    def change(self, verb: str, setting: Setting | None) -> None:
        """Let the device play `verb` under `setting`, from its next gradient on; None ends it."""
        self._device.change(verb, setting)

    def pause(self) -> None:
        """Let the device stand still; a device on its way up boots later."""
        self._device.pause()
        if not self._powerless:
            self._channel.freeze(self._device)

    def resume(self) -> None:
        """Let the device go on, with a new connection if the last one has timed out."""
        self._channel.thaw(self._device)
        self._device.resume()

    def throttle(self, setting: Setting) -> None:
        """Multiply the device's CPU quota by a factor, also for work under way."""
        self._device.throttle(setting["factor"])

    def unthrottle(self) -> None:
        """Give the device its own CPU quota back."""
        self._device.throttle(None)

    def press(self, setting: Setting) -> None:
        """Take memory: a worker for which too little is left is killed."""
        self._share = setting["share"]
        self._starve()

    def release(self) -> None:
        """Release the memory, and boot a worker that was killed, unless another fault holds it."""
        starved, self.starved = self.starved, False
        if starved and not self.faults.ended:
            self.start()

    def _starve(self) -> None:
        """Kill the worker if a fault leaves it too little memory."""
        if self.starved or self.faults.ended or not self.faults.holds("press"):
            return
        if self._memory.lacks(self._device.name, self._share):
            self.starved = True
            self._device.die()
            self._channel.close(self._device)
            self._lose()
            self._memory.kill(self._device.name)


class DeviceFaults:
    """Counts the faults on every device, does the verbs with an effect, and logs these verbs."""

    def __init__(
        self,
        powers: Callable[[VirtualDevice], DevicePowers],
        clock: Heap,
        now: Callable[[], float],
        log: RunLog,
        lost: Callable[[str], None],
    ) -> None:
        """`now` returns emulated seconds into the run, `clock` counts from before it.

        `lost` is told the name of each device that draws a fault without an end under which the
        server hears nothing from it.
        """
        self._make, self._clock, self._now = powers, clock, now
        self._log, self._lost = log, lost
        self._powers: dict[str, DevicePowers] = {}  # of devices that a fault has struck

    def perform(self, action: Action, device: VirtualDevice, planned: float) -> None:
        """Do an action of the timeline, planned for `planned` seconds into the run."""
        self._obey(device, action, planned)

    def switch(self, action: Action, device: VirtualDevice) -> None:
        """Do an action of the battery of `device`, which is in no timeline."""
        self._obey(device, action)

    def draw(self, device: VirtualDevice) -> bool:
        """Draw whether a fault strikes in this iteration; return whether `device` is down now."""
        drawn = device.hazard.strike() if device.hazard else None
        if drawn is None:
            return False
        begin, end, lasts = drawn
        powers = self._powers_of(device)
        held = powers.faults.holds(begin.verb)
        if powers.faults.prolongs(begin.verb, lasts) and held:
            whole = None if lasts is None else microseconds(lasts)
            overlap = OverlapRecord(self._now(), device.name, begin.fault, begin.verb, whole)
            self._log.write(overlap)
        self._obey(device, begin)
        if lasts is not None:
            self._clock.at(self._clock.now + lasts, self._end, device, end)
        elif verbs.row(begin.verb).silences or powers.starved:
            self._lost(device.name)
        return device.coroutine is None

    def starved(self, device: str) -> bool:
        """Return whether the worker of `device` was killed for want of memory."""
        return device in self._powers and self._powers[device].starved

    def _powers_of(self, device: VirtualDevice) -> DevicePowers:
        if device.name not in self._powers:
            self._powers[device.name] = self._make(device)
        return self._powers[device.name]

    def _end(self, device: VirtualDevice, action: Action) -> None:
        self._obey(device, action)

    def _obey(self, device: VirtualDevice, action: Action, planned: float | None = None) -> None:
        """Do `action`, `planned` for a time of the run or by no timeline."""
        powers = self._powers_of(device)
        if not powers.faults.changes(action.verb, action.fault):
            if planned is not None and action.begins:
                self._log.write(overlapped(action, planned, self._now()))
            return
        what, fault = verbs.record(action.verb), powers.faults.kind(action.verb)
        due = self._now() if planned is None else planned
        facts = {"fault": fault, "begins": action.begins, "planned": due}
        # first, as a device that goes on may draw its next fault at once, within `perform`
        self._log.write(made(what, self._now(), node=device.name, **facts, setting=action.setting))
        perform(powers, action.verb, action.setting)


KIND = "energy"


class Batteries:
    """Gives devices their batteries at the run's zero."""

    def __init__(
        self,
        clock: Heap,
        faults: DeviceFaults,
        now: Callable[[], float],
        log: RunLog,
        lost: Callable[[str], None],
    ) -> None:
        """`lost` is told the name of each device whose battery will never be charged again."""
        self._clock, self._faults, self._now = clock, faults, now
        self._log, self._lost = log, lost

    def install(self, scenario: Scenario, nodes: Mapping[str, VirtualDevice]) -> None:
        """Give each device of `scenario` with a battery its own; the run begins now."""
        for name, plain in scenario.batteries.items():
            self._give(nodes[name], BatteryConstants.read(plain))

    def _give(self, device: VirtualDevice, constants: BatteryConstants) -> None:
        def switch(verb: str) -> None:
            self._faults.switch(Action(verb, device.name, KIND), device)
            if device.battery is not None and device.battery.lost:
                self._lost(device.name)

        def record(level: float) -> None:
            self._log.write(BatteryRecord(self._now(), device.name, round(level, 6)))

        device.battery = DeviceBattery(constants, self._clock, switch, record)
