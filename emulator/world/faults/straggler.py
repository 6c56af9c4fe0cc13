"""The fault `straggler`: a device waits before every gradient, so that each step takes longer."""

from dataclasses import dataclass
from typing import Literal

from .. import laws
from ..laws import Law
from ..verbs import Action


@dataclass(frozen=True, kw_only=True)
class Straggler:
    """Straggler: the device waits before each gradient for a time drawn from `delay`."""

    kind: Literal["straggler"] = "straggler"
    delay: Law
    """Time that the device waits before each gradient, a law, for example
    `{exponential: 500ms}`."""

    def begin(self, node: str) -> Action:
        return Action("lag", node, self.kind, {"delay": laws.plain(self.delay)})

    def end(self, node: str) -> Action:
        return Action("catch_up", node, self.kind)
