"""The verbs that the conductor does to a container through the engine."""

from docker import DockerClient

from ...world.cpu_quota import throttled
from ...world.verbs import Setting
from .spec import USUAL_PERIOD, cpu_quota

UNLIMITED = -1
"""CPU quota of a container without one."""


class ContainerPowers:
    """Does the verbs of the table with `by="engine"` to the container of a device."""

    def __init__(
        self, client: DockerClient, container: str, cpu: float | None, dilation: float = 1.0
    ) -> None:
        """`cpu` is the device's own CPU quota in cores, undilated; None: it has none."""
        self._client, self._container, self._cpu = client, container, cpu
        self._dilation = dilation

    def throttle(self, setting: Setting) -> None:
        """Multiply the device's CPU quota by a factor."""
        self._set(throttled(self._cpu, setting["factor"]))

    def unthrottle(self) -> None:
        """Give the device its own CPU quota back."""
        self._set(self._cpu)

    def _set(self, cores: float | None) -> None:
        period, quota = cpu_quota(cores, self._dilation) or (USUAL_PERIOD, UNLIMITED)
        self._client.api.update_container(self._container, cpu_period=period, cpu_quota=quota)
