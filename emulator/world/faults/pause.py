"""The fault `pause`: a device stands still, as if asleep or swapped out, and then goes on."""

from dataclasses import dataclass
from typing import Literal

from ..verbs import Action


@dataclass(frozen=True)
class Pause:
    """Pause: the device's worker is frozen (SIGSTOP); connections survive a short pause."""

    kind: Literal["pause"] = "pause"

    def begin(self, node: str) -> Action:
        return Action("pause", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("resume", node, self.kind)
