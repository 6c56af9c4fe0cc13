"""The fault `corrupt`: bits of a device's messages are flipped, above TCP."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from ... import chance
from ...units import Fraction
from ...vectors import Buffer
from ..verbs import Action, Setting

VERB = "garble"
"""The verb whose setting has the `share` of messages with flipped bits."""


@dataclass(frozen=True, kw_only=True)
class Corrupt:
    """Corrupt: bits are flipped in messages that the device sends and receives."""

    kind: Literal["corrupt"] = "corrupt"
    messages: Fraction
    """Share of the messages, in both directions, with flipped bits, for example `5%`."""

    def begin(self, node: str) -> Action:
        return Action(VERB, node, self.kind, {"share": float(self.messages)})

    def end(self, node: str) -> Action:
        return Action("clear", node, self.kind)


class Garbler:
    """Flips bits in messages of one incarnation of a device, in either direction."""

    def __init__(self, seed: int, device: str, incarnation: int) -> None:
        """`seed` is the run's."""
        self._dice = Random(chance.garbled(seed, device, incarnation))

    def strikes(self, setting: Setting | None) -> bool:
        """Draw whether the next message is garbled; without a `setting`, draw nothing."""
        return setting is not None and self._dice.random() < setting["share"]

    def garble(self, frames: Sequence[Buffer]) -> list[Buffer]:
        """Return `frames` with one to eight bits of a single byte flipped."""
        garbled = [bytearray(frame) for frame in frames]
        place = self._dice.randrange(sum(map(len, garbled)))
        for frame in garbled:
            if place < len(frame):
                frame[place] ^= self._dice.randrange(1, 256)
                break
            place -= len(frame)
        return list(map(bytes, garbled))
