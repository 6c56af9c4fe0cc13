"""The memory of devices in virtual time: whether a worker has enough, and its death if not."""

from collections.abc import Callable
from functools import cached_property

from ....log.records import made
from ....log.writing import RunLog
from ....scenario import Scenario
from ....scenario.demand import WORKER
from ....units import Bytes


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
        reason = f"{own}: raise `memory` in the profile of {device}"
        facts = {"node": device, "code": -9, "cause": "limit", "reason": reason}
        self._log.write(made("exit", self._now(), **facts))
