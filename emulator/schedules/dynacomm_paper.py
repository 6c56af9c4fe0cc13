"""DynaComm's published algorithm: a table over numbers of segments (Cai et al., 2021, section IV).

O(L³) time and O(L²) memory for L layers. The schedule `dynacomm` uses it with `method: paper`; the
tests and the study of planning costs compare it with the fast algorithm.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

from .base import Segments, Time, slack

Row: TypeAlias = dict[int, tuple[Time, int]]
"""By l: the least time at which the forward pass of the layers 1 to l ends with so many segments,
and the number of layers before the last of these segments."""


def segments(setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
    """Return the fewest segments of a pull with which the forward pass ends earliest.

    Row m of the table stands for m segments; the m-th segment arrives after m set-ups:

        F[m][l] = min over k < l of  max(F[m - 1][k], m * setup + sent[l]) + done[l] - done[k]
    """
    sent = [0, *accumulate(transfer)]
    done = [0, *accumulate(forward)]
    layers = len(transfer)
    # row m begins at l = m: each of m segments has a layer; row 1 holds whole messages
    table: list[Row] = [
        {last: (setup + sent[last] + done[last], 0) for last in range(1, layers + 1)}
    ]
    for number in range(2, layers + 1):
        before = table[-1]
        row: Row = {}
        for last in range(number, layers + 1):
            arrival = number * setup + sent[last]
            row[last] = min(
                (max(before[k][0], arrival) + done[last] - done[k], k)
                for k in range(number - 1, last)
            )
        table.append(row)
    least = min(row[layers][0] for row in table)
    limit = least + slack(least)
    fewest = next(number for number, row in enumerate(table, 1) if row[layers][0] <= limit)
    return _back_track(table[:fewest], layers)


def _back_track(table: list[Row], last: int) -> Segments:
    """Return the segments of the layers 1 to `last` from the choices in `table`, one for each
    row."""
    cuts = []
    for row in reversed(table):
        before = row[last][1]
        cuts.append((before + 1, last))
        last = before
    return tuple(reversed(cuts))
