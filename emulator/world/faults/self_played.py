"""The faults that a device plays by itself, in every runtime, and their effects on an iteration."""

from collections.abc import Mapping

from ..verbs import Setting
from .overheat import VERB as HEAT
from .overheat import Heat
from .straggler import VERB as LAG
from .straggler import Lag


class SelfPlayed:
    """The settings in force on a device, and what came of them in its present incarnation."""

    __slots__ = ("_device", "_heat", "_incarnation", "_lag", "_seed", "present", "settings")

    def __init__(self, seed: int, device: str, incarnation: int) -> None:
        """`seed` is the run's."""
        self._seed, self._device, self._incarnation = seed, device, incarnation
        self.settings: dict[str, Setting] = {}
        """Settings of the part's orders, by name: those of verbs, and the seconds of its pauses."""
        self.present: Mapping[str, Setting] = {}
        """Settings in force when the present iteration began."""
        self._lag: Lag | None = None
        self._heat: Heat | None = None

    def change(self, verb: str, setting: Setting | None) -> None:
        """Put the `setting` of `verb` into force; None ends it."""
        if setting is None:
            self.settings.pop(verb, None)
        else:
            self.settings[verb] = setting

    def wait(self) -> float:
        """Return the seconds for which a lag delays the next iteration."""
        if LAG not in self.settings:
            return 0.0
        if self._lag is None:
            self._lag = Lag(self._seed, self._device, self._incarnation)
        return self._lag.draw(self.settings[LAG])

    def begin_iteration(self) -> None:
        """Let an iteration begin, under the settings of this moment."""
        self.present = dict(self.settings)
        if not self.heats:  # the next fault finds a cold device
            self._heat = None

    @property
    def heats(self) -> bool:
        """Whether the device gets hot as it computes, and slow."""
        return HEAT in self.present

    def slowdown(self, now: float) -> float:
        """Return the factor by which a computation that begins at `now` takes longer."""
        if not self.heats:
            return 1.0
        self._heat = self._heat or Heat()
        return self._heat.slowdown(now, self.present[HEAT])

    def computed(self, began: float, ended: float, still: float) -> None:
        """Take in a computation from `began` to `ended`, `still` seconds of which were a pause."""
        if self.heats and self._heat is not None:
            self._heat.computed(began, ended, still, self.present[HEAT])

    def die(self) -> None:
        """End the incarnation: the next one draws its waits anew, cold, under the same settings."""
        self._incarnation += 1
        self._lag, self._heat, self.present = None, None, {}
