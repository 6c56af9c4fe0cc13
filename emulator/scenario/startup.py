"""The start-up time of a run's containers, until every device has said hello to the server.

Measured with `tests/benchmarks/containers/startup.py` on two cores of an AMD EPYC that had other
work besides, with Docker 20.10, `mnist-cnn` and up to 60 devices: 0.71 to 1.09 s of CPU for a boot,
0.35 to 0.5 s for the engine and the container's shim.
"""

from ..world.cpu_quota import core_share
from .demand import beside_devices
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


def boot_time(cpu: float | None) -> float:
    """Return the seconds of a boot under the quota `cpu`."""
    return BOOT / core_share(cpu)


def _slowest(scenario: Scenario) -> float:
    return max(boot_time(device.cpu) for device in scenario.nodes)
