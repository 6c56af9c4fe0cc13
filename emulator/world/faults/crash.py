"""The fault `crash`: a device loses power and boots with nothing in memory."""

from dataclasses import dataclass
from typing import Literal

from ..verbs import Action


@dataclass(frozen=True)
class Crash:
    """Crash: the device is killed (SIGKILL), and boots from nothing when the crash ends."""

    kind: Literal["crash"] = "crash"
    keeps: Literal["state"] | None = None
    """With `state` the device boots from the state after its last push, as from a disk: the memory
    of its codec, and its place in the data."""

    def begin(self, node: str) -> Action:
        return Action("halt" if self.keeps else "kill", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("reboot" if self.keeps else "start", node, self.kind)
