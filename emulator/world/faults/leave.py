"""The fault `leave`: a device goes away in order, and may come back."""

from dataclasses import dataclass
from typing import Literal

from ..verbs import Action


@dataclass(frozen=True)
class Departure:
    """Leave: the device says goodbye to the server and ends; it boots from nothing to come back."""

    kind: Literal["leave"] = "leave"

    def begin(self, node: str) -> Action:
        return Action("leave", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("join", node, self.kind)
