"""A device loses power, and comes back with nothing in memory."""

from dataclasses import dataclass
from typing import Literal

from ..world.verbs import Action


@dataclass(frozen=True)
class Crash:
    """SIGKILL; booted again when the fault has lasted, never if it lasts for good."""

    kind: Literal["crash"] = "crash"

    def begin(self, node: str) -> Action:
        return Action("kill", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("start", node, self.kind)
