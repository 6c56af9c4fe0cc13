"""Faults that a device plays by itself, kept in a single slot, because few devices have such
faults."""

from ....core.worker.falsifying import VERB as FALSIFY
from ....world.faults.lag import VERB as LAG
from ....world.faults.lag import Lag
from ....world.verbs import Setting


class SelfPlayed:
    """The settings in force on a device, and what came of them in its present incarnation."""

    __slots__ = ("_lag", "lie", "settings")

    def __init__(self) -> None:
        self.settings: dict[str, Setting] = {}
        """By verb."""
        self.lie: Setting | None = None
        """Setting of the lie in the iteration that goes on; None: its gradient is true."""
        self._lag: Lag | None = None

    def change(self, verb: str, setting: Setting | None) -> None:
        """Put the `setting` of `verb` into force; None ends it."""
        if setting is None:
            self.settings.pop(verb, None)
        else:
            self.settings[verb] = setting

    def wait(self, seed: int, device: str, incarnation: int) -> float:
        """Return the seconds for which a lag delays the next iteration."""
        if not self.settings:
            return 0.0
        if self._lag is None:
            self._lag = Lag(seed, device, incarnation)
        return self._lag.draw(self.settings.get(LAG))

    def begin_iteration(self) -> None:
        """Decide whether the device lies in the iteration that begins."""
        self.lie = self.settings.get(FALSIFY)

    def die(self) -> None:
        """End the incarnation: the next one draws its waits anew, under the same settings."""
        self._lag = None
