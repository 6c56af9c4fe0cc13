"""A device stands still for a while, as one that is asleep or swapped out, and then goes on."""

from dataclasses import dataclass
from typing import Literal

from ..world.verbs import Action


@dataclass(frozen=True)
class Pause:
    """The device's processes are frozen; memory and connections survive, as far as peers wait."""

    kind: Literal["pause"] = "pause"

    def begin(self, node: str) -> Action:
        return Action("pause", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("resume", node, self.kind)
