"""Schedule `layer-by-layer`: a message for every layer (Zhang et al., 2017, Poseidon)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .base import Segments, Time


@dataclass(frozen=True)
class LayerByLayer:
    """Layer by layer: the most overlap, at the price of a set-up for every layer.

    The schedule is optimal where messages have no set-up.
    """

    kind: Literal["layer-by-layer"] = "layer-by-layer"

    def pull(self, setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
        return tuple((layer, layer) for layer in range(1, len(transfer) + 1))

    def push(self, setup: Time, transfer: Sequence[Time], backward: Sequence[Time]) -> Segments:
        return self.pull(setup, transfer, backward)[::-1]
