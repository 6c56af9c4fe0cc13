"""Schedule `sequential`: the whole model in one message, the whole update in another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .base import Segments, Time


@dataclass(frozen=True)
class Sequential:
    """Sequential: link and processor take turns, with one set-up a direction."""

    kind: Literal["sequential"] = "sequential"

    def pull(self, setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
        return ((1, len(transfer)),)

    def push(self, setup: Time, transfer: Sequence[Time], backward: Sequence[Time]) -> Segments:
        return ((1, len(transfer)),)
