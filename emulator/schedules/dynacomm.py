"""Schedule `dynacomm`: the cuts with which a phase ends earliest (Cai et al., 2021, DynaComm).

Of all cuts that end a phase earliest, the schedule takes those with the fewest segments, which
suffer least from an error in the set-up time.

Reversed in time, a push is a pull: backward passes from the last layer to the first, then
transfers, become transfers, then forward passes from the first layer to the last. So both phases
have the same least time and the same cuts, if the same times stand in both (two-machine flow shops
are reversible). Both phases are planned by one function.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias, get_args

from .base import REPLAN, Replan, Segments, Time, slack

Method: TypeAlias = Literal["fast", "paper"]
"""Algorithm: `fast` takes O(L) time for L layers, `paper` the published O(L³)."""


@dataclass(frozen=True)
class DynaComm:
    """DynaComm: no other cuts end an iteration's pull or push earlier, and none have fewer."""

    replan: Replan = 50
    """Iterations after which a device plans anew with the costs that it measured."""
    method: Method = "fast"
    """Algorithm that finds the cuts: `fast`, or the `paper`'s table, for comparison. Both find cuts
    of the same time and number."""
    kind: Literal["dynacomm"] = "dynacomm"

    def __post_init__(self) -> None:
        REPLAN.check(self.replan)
        if self.method not in get_args(Method):
            raise ValueError(f"method {self.method!r} is not {' or '.join(get_args(Method))}")

    def pull(self, setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
        if self.method == "paper":
            return paper_segments(setup, transfer, forward)
        return _fewest(setup, transfer, forward, least_time(setup, transfer, forward))

    def push(self, setup: Time, transfer: Sequence[Time], backward: Sequence[Time]) -> Segments:
        return self.pull(setup, transfer, backward)[::-1]


def least_time(setup: Time, transfer: Sequence[Time], computing: Sequence[Time]) -> Time:
    """Return the least time in which a phase can end, a push as well as a pull.

    The recursion runs over pushes. `ends[l]` is the least time in which the layers l to L are
    pushed, `done[l]` the time at which the gradient of layer l is there, and `sent[l]` the transfer
    time of the layers l to L. The last segment of these holds the layers l to k - 1:

        ends[l] = min over k > l of  max(ends[k], done[l]) + setup + sent[l] - sent[k]

    `ends` never rises with l, so the k split into two ranges. From `free` on, the link waits for
    the gradient: the maximum is `done[l]`, and the smallest k is best. Below `free` the gradient
    waits for the link: the k with the least `ends[k] - sent[k]` is best. As l falls, `done[l]`
    grows and `free` falls, so the second range slides, and a queue of candidates finds each minimum
    in O(1) on average. Time and memory: O(L).
    """
    layers = len(transfer)
    done = [*accumulate(reversed(computing), initial=0)][::-1]
    sent = [*accumulate(reversed(transfer), initial=0)][::-1]
    ends: list[Time] = [0] * (layers + 1)
    free = layers
    # candidates k < free, the largest k first; `ends[k] - sent[k]` rises from each to the next
    waiting: deque[int] = deque()
    for layer in reversed(range(layers)):  # counted from 0 here
        _enqueue(waiting, layer + 1, ends, sent)
        while free > layer + 1 and ends[free - 1] <= done[layer]:
            free -= 1
        while waiting and waiting[0] >= free:
            waiting.popleft()
        least = done[layer] - sent[free]
        if waiting:
            least = min(least, ends[waiting[0]] - sent[waiting[0]])
        ends[layer] = least + setup + sent[layer]
    return ends[0]


def _enqueue(waiting: deque[int], number: int, ends: list[Time], sent: list[Time]) -> None:
    """Append candidate `number` to `waiting`, and remove the candidates that are not better.

    `number` is below all others and stays in the range for longer, so the removed candidates can
    never be the best again.
    """
    value = ends[number] - sent[number]
    while waiting and ends[waiting[-1]] - sent[waiting[-1]] >= value:
        waiting.pop()
    waiting.append(number)


def _fewest(
    setup: Time, transfer: Sequence[Time], computing: Sequence[Time], least: Time
) -> Segments:
    """Return the fewest segments of a pull whose forward pass ends at `least`. O(L).

    The m-th segment has arrived after m set-ups and the transfers so far; thereafter its layers and
    all later ones are computed. So a segment may grow until its arrival plus this computing exceeds
    `least`. A segment that begins later has less to compute after it and may reach further, so it
    is best to make every segment as large as possible (by induction over m).
    """
    limit = least + slack(least)
    segments = []
    arrival: Time = 0
    remaining = sum(computing)
    first = 0  # layers that the segments so far hold
    while first < len(transfer):
        arrival += setup + transfer[first]
        last = first + 1
        while last < len(transfer) and arrival + transfer[last] + remaining <= limit:
            arrival += transfer[last]
            last += 1
        remaining -= sum(computing[first:last])
        segments.append((first + 1, last))
        first = last
    return tuple(segments)


Row: TypeAlias = dict[int, tuple[Time, int]]
"""By l: the least time at which the forward pass of the layers 1 to l ends with so many segments,
and the number of layers before the last of these segments."""


def paper_segments(setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
    """Return the fewest segments of a pull with which the forward pass ends earliest.

    This is the published table over numbers of segments (Cai et al., 2021, section IV): O(L³) time
    and O(L²) memory for L layers. Row m of the table stands for m segments; the m-th segment
    arrives after m set-ups:

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
