"""The batteries of a run in virtual time, which switch devices off and on as faults do."""

from collections.abc import Callable, Mapping

from ....log.records.fault_records import BatteryRecord
from ....log.writing import RunLog
from ....scenario import Scenario
from ....world.battery import BatteryConstants
from ....world.verbs import Action
from ..clock import Heap
from .device_battery import DeviceBattery
from .device_faults import DeviceFaults
from .virtual_device import VirtualDevice

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
