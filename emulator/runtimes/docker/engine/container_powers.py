"""The verbs that the conductor does to a container through the engine."""

from docker import DockerClient

from ....world.cpu_quota import throttled
from ....world.verbs import Setting
from ..configs.spec import USUAL_PERIOD, cpu_quota

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
        self._in_force, self._lifted = cpu, False
        self._set = self._quota()

    def throttle(self, setting: Setting) -> None:
        """Multiply the device's CPU quota by a factor."""
        self._in_force = throttled(self._cpu, setting["factor"])
        self._update()

    def unthrottle(self) -> None:
        """Give the device its own CPU quota back."""
        self._in_force = self._cpu
        self._update()

    def lift(self) -> None:
        """Let the container use a whole core, until `lower`, whatever quota a fault sets."""
        self._lifted = True
        self._update()

    def lower(self) -> None:
        """Give the container the quota in force back."""
        self._lifted = False
        self._update()

    def _update(self) -> None:
        """Tell the engine the container's quota, if it is another one."""
        if (wanted := self._quota()) == self._set:
            return
        period, quota = wanted
        self._client.api.update_container(self._container, cpu_period=period, cpu_quota=quota)
        self._set = wanted

    def _quota(self) -> tuple[int, int]:
        """Return the period and the time in it that the container should have now."""
        period, quota = cpu_quota(self._in_force, self._dilation) or (USUAL_PERIOD, UNLIMITED)
        # one process takes memory, and uses no more than one core
        return period, UNLIMITED if self._lifted and quota < period else quota
