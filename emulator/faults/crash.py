"""The fault `crash`: a device loses power and boots with nothing in memory."""

from dataclasses import dataclass
from typing import Literal

from ..world.verbs import Action


@dataclass(frozen=True)
class Crash:
    """Crash: the device is killed (SIGKILL), and boots from nothing when the crash ends."""

    kind: Literal["crash"] = "crash"

    def begin(self, node: str) -> Action:
        return Action("kill", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("start", node, self.kind)
