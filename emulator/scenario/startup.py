"""The start-up time of a run's containers, until every device has said hello to the server.

Measured with `tests/benchmarks/startup.py` on two cores of an AMD EPYC that had other work besides,
with Docker 20.10, `mnist-cnn` and up to 60 devices: 0.71 to 1.09 s of CPU for a boot, 0.35 to 0.5 s
for the engine and the container's shim.
"""

import math

from ..errors import first_of
from ..units import Share
from .demand import Shortfall, beside_devices
from .model import Scenario

ENGINE = 0.4
"""CPU seconds that Docker takes to create and start a container."""

BOOT = 0.9
"""CPU seconds of a worker from its container's start to its hello; the device's quota pays them."""


def startup_time(scenario: Scenario, cores: float) -> float:
    """Return a lower bound on the real seconds from the first container's start to the last hello
    on a host with `cores` cores.
    """
    containers = len(scenario.nodes) + beside_devices(scenario)
    gateways = len(scenario.bottlenecks) * ENGINE
    return max(
        (containers * (ENGINE + BOOT) + gateways) / cores, _slowest(scenario) * scenario.dilation
    )


def slow_starts(scenario: Scenario, timeout: float) -> list[Shortfall]:
    """Return a warning if a device may fail to say hello within `timeout` seconds of its start.

    The warning comes at half of `timeout` already: other work on the host makes each start longer.
    """
    if _slowest(scenario) <= timeout / 2:
        return []
    slow = [device for device in scenario.nodes if BOOT / _share(device.cpu) > timeout / 2]
    enough = Share(math.ceil(100 * BOOT / (timeout / 2)) / 100)
    names = first_of([device.name for device in slow], 1)
    return [
        Shortfall(
            "warning",
            f"cpu: {names}: with {Share(_share(slow[0].cpu))} of a core a device takes about "
            f"{_slowest(scenario):.0f} s to say hello, and the run fails if it has not within "
            f"{timeout:.0f} s: give it {enough} or more, or play the scenario in virtual time",
        )
    ]


def _slowest(scenario: Scenario) -> float:
    return max(BOOT / _share(device.cpu) for device in scenario.nodes)


def _share(cpu: float | None) -> float:
    """Return the cores for a boot under the quota `cpu`: at most 1, as a boot has one thread."""
    return 1.0 if cpu is None else min(1.0, cpu)
