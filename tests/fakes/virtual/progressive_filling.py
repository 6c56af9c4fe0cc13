"""Max-min fair rates by definition: all flows grow alike until a limit is used up."""

from collections.abc import Sequence

Limit = tuple[float, Sequence[int]]
"""A rate, and the numbers of the flows that share it."""


def progressively_filled(flows: int, limits: Sequence[Limit]) -> list[float]:
    """Return the rate of each of `flows` flows: raise all alike, freeze those at a full limit."""
    shares, growing = [0.0] * flows, set(range(flows))
    while growing:
        rooms = [
            ((rate - sum(shares[i] for i in sharing)) / len(growing & {*sharing}), sharing)
            for rate, sharing in limits
            if growing & {*sharing}
        ]
        step = min(room for room, _ in rooms)
        for index in growing:
            shares[index] += step
        for room, sharing in rooms:
            if room <= step * (1 + 1e-12):
                growing -= {*sharing}
    return shares
