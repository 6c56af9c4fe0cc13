"""The fault `corrupt`: bits of a device's messages are flipped, above TCP."""

from dataclasses import dataclass
from typing import Literal

from ...units import Fraction
from ..verbs import Action


@dataclass(frozen=True, kw_only=True)
class Corrupt:
    """Corrupt: bits are flipped in messages that the device sends and receives."""

    kind: Literal["corrupt"] = "corrupt"
    messages: Fraction
    """Share of the messages, in both directions, with flipped bits, for example `5%`."""

    def begin(self, node: str) -> Action:
        return Action("garble", node, self.kind, {"share": float(self.messages)})

    def end(self, node: str) -> Action:
        return Action("clear", node, self.kind)
