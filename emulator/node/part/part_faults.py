"""The faults that a worker's process plays by order of the supervisor.

Such a fault has a setting in `PartOrders`, under its verb. A module outside `node`, as
`faults/lag.py`, has its effect, as virtual time uses it too.
"""

from collections.abc import Callable, Mapping

from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.faults.lag import VERB, Lag
from ...world.faults.verbs import Setting
from .part_orders import PartOrders


class PartFaults:
    """Plays the faults of a worker's incarnation, before every gradient."""

    def __init__(
        self,
        orders: PartOrders,
        lag: Lag,
        draw: Callable[[], None],
        clock: EmulatedClock = UNDILATED,
    ) -> None:
        """`draw` draws, once an iteration, whether a fault strikes; it need not return."""
        self._orders, self._lag, self._draw, self._clock = orders, lag, draw, clock
        self._settings: Mapping[str, Setting] = {}

    def settings(self) -> Mapping[str, Setting]:
        """Return the settings that were in force when the present iteration began, by verb."""
        return self._settings

    def before_gradient(self) -> None:
        """Wait as a lag asks for, then draw the faults of the iteration.

        A wait goes on while the process is stopped: sleep counts by the clock.
        """
        wait = self._lag.draw(self._orders.settings().get(VERB))
        if wait:
            self._clock.sleep(wait)
        self._draw()
        self._settings = dict(self._orders.settings())
