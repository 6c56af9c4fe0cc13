"""The fault `straggler`: a device waits before every gradient, so that each step takes longer."""

from dataclasses import dataclass
from random import Random
from typing import Literal

from ... import chance
from .. import laws
from ..laws import Law
from ..verbs import Action, Setting

VERB = "lag"
"""The verb whose setting holds the law of the waits."""

LONGEST_LAG = 1e8
"""Most seconds of a wait: three years, which a sleeping process still counts exactly."""


@dataclass(frozen=True, kw_only=True)
class Straggler:
    """Straggler: the device waits before each gradient for a time drawn from `delay`."""

    kind: Literal["straggler"] = "straggler"
    delay: Law
    """Time that the device waits before each gradient, a law, for example
    `{exponential: 500ms}`."""

    def begin(self, node: str) -> Action:
        return Action(VERB, node, self.kind, {"delay": laws.plain(self.delay)})

    def end(self, node: str) -> Action:
        return Action("catch_up", node, self.kind)


class Lag:
    """Draws the waiting times of one incarnation of a device."""

    def __init__(self, seed: int, device: str, incarnation: int) -> None:
        """`seed` is the run's."""
        self._rng = Random(chance.lag(seed, device, incarnation))
        self._setting: Setting | None = None
        self._law: laws.Law | None = None

    def draw(self, setting: Setting | None) -> float:
        """Return the seconds to wait before a gradient; zero, without a draw, without a `setting`.

        `setting` is the setting of the verb `lag` in force, `{"delay": …}` with a law as
        `laws.plain` writes it.
        """
        if setting is None:
            return 0.0
        if setting is not self._setting or self._law is None:  # one law serves many draws
            self._setting, self._law = setting, laws.read(setting["delay"])
        return min(LONGEST_LAG, float(self._law.draw(self._rng)))
