"""A device's scheduler: measures link and processor, and cuts pulls and pushes.

The scheduler has no clock and does no I/O: a driver tells it of events with their times, all
readings of the clock of `Begin.zero`. An iteration goes

    cuts, begin, told and arrived, forward …, backward, handed, …, begin of the next, told

and counts once the server has told the times at which the pieces of its update arrived. An
iteration that was interrupted, by a lost connection for example, leaves no trace in the estimates.
"""

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from statistics import median
from typing import NamedTuple, TypeAlias

import numpy as np

from ...layout import Segment
from ...log.records.plan_records import IterationRecord, PlanRecord
from ...schedules.base import Cuts, LayerCosts, Schedule, cut
from ..wire.messages import Times
from .iteration_trace import Block, IterationTrace, Piece
from .link_fit import RecentRows, Transfer, fit
from .plan_outcome import IterationPlan, PlanOutcome
from .prior_costs import PriorCosts

Report: TypeAlias = Callable[[PlanRecord | IterationRecord], None]
"""Takes each record of a device's plans and iterations."""

REPLAN = 50
"""Iterations between two predictions for a schedule that needs no costs (`layer-by-layer`), and the
largest number of iterations that a record stands for."""
MOST_TRANSFERS, LEAST_TRANSFERS = 128, 8
"""Largest number of transfers that a link is fitted to, and the number after a short interval."""
RESTS = 64
"""Iterations whose rest is remembered."""


class _Running(NamedTuple):
    """An iteration under way."""

    trace: IterationTrace
    plan: IterationPlan
    number: int
    """Counted from 1."""


class Scheduler:
    """Cuts the pulls and pushes of a device by measured costs.

    Every `replan` iterations of the schedule the costs are estimated from the iterations since the
    last plan, so a change of the link or of the processor shows in the next plan.
    """

    def __init__(self, node: str, schedule: Schedule, prior: PriorCosts, report: Report) -> None:
        """`node` is the device's name. The first plan is made from `prior`.

        `report` takes each record; its `at` counts from the zero that `started` was told.
        """
        self._node, self._schedule, self._report = node, schedule, report
        self._every: int = getattr(schedule, "replan", REPLAN)
        self._head = prior.head
        self._down, self._up = prior.down, prior.up
        self._least_down, self._least_up = prior.least_down, prior.least_up
        self._pull_sizes = LayerSizes(prior.pull, prior.head)
        self._push_sizes = LayerSizes(prior.push, prior.head)
        self._computing = ComputingAverage(prior.forward, prior.backward)
        self._pulls = RecentRows(len(Transfer._fields), MOST_TRANSFERS, LEAST_TRANSFERS)
        self._pushes = RecentRows(len(Transfer._fields), MOST_TRANSFERS, LEAST_TRANSFERS)
        self._rests: deque[float] = deque(maxlen=RESTS)
        self._zero = self._now = 0.0
        self._done = 0  # iterations whose updates were given to the link
        self._plan: IterationPlan | None = None
        self._announced: IterationPlan | None = None
        self._outcome: PlanOutcome | None = None
        self._running: _Running | None = None
        # the last iteration, until the server tells its times; and when the next one began
        self._settling: _Running | None = None

    def started(self, zero: float) -> None:
        """Note that the run's time counts from `zero`, as `Begin` says."""
        self._zero = zero

    def cuts(self) -> Cuts:
        """Return the cuts of the next iteration; make a new plan if one is due."""
        return self._planned().cuts

    # -- events ----------------------------------------------------------------------------------

    def begin(self, now: float) -> None:
        """Note that a pull was sent, for the first time or once more: an iteration begins."""
        self._now = now
        plan = self._planned()
        if self._announced is not plan:
            self._report(plan.record(self._node, now - self._zero))
            self._announced = plan
        running = self._running
        if running is not None and running.trace.pushed:
            self._settling = running
        self._running = _Running(IterationTrace(plan.cuts, now), plan, self._done + 1)

    def told(self, times: Times) -> None:
        """Note the server's times, which come with the first piece of the model."""
        if self._running is not None:
            self._running.trace.answered = times.answered
        if self._settling is not None:
            running, self._settling = self._settling, None
            if running.trace.fits(times.arrived) and times.answered < inf:
                self._count(running, times)

    def arrived(self, segment: Segment, size: int, now: float, late: bool = False) -> None:
        """Note that a piece of the model arrived, of `size` bytes on the wire.

        `late`: the device was computing and found the piece waiting, so the piece may have arrived
        before `now`. Without the flag `now` counts as the time of arrival.
        """
        self._now = now  # of the record that `told` may make
        if self._running is not None:
            self._running.trace.arrived(Piece(segment, size, now, late))

    def forward(self, segment: Segment, seconds: list[float], began: float, ended: float) -> None:
        """Note the forward pass of the layers of `segment`; `seconds` holds each layer's time."""
        if self._running is not None:
            self._running.trace.forward(Block(segment, seconds, began, ended))

    def backward(self, segment: Segment, seconds: list[float], began: float, ended: float) -> None:
        """Note the backward pass of the layers of `segment`; `seconds` begins with the lowest."""
        if self._running is not None:
            self._running.trace.backward(Block(segment, seconds, began, ended))

    def handed(self, segment: Segment, size: int, now: float) -> None:
        """Note that a piece of the update was given to the link, of `size` bytes on the wire."""
        if self._running is None or self._running.trace.pushed:
            return  # an iteration counts once
        self._running.trace.handed(Piece(segment, size, now))
        if self._running.trace.pushed:
            self._done += 1

    def close(self, now: float) -> None:
        """Report the iterations since the last record: the device's life is over."""
        self._now = now
        self._report_outcome()

    # -- estimates -------------------------------------------------------------------------------

    def _count(self, running: _Running, times: Times) -> None:
        """Learn from an iteration; `times` came with the answer to the pull that followed."""
        (trace, plan, number), arrived = running, times.arrived
        if self._outcome is None or self._outcome.plan is not plan:
            self._report_outcome()
            self._outcome = PlanOutcome(plan)
        measured = self._outcome.add(number, trace, times)
        self._rests.append(measured.rest)
        self._computing.add(trace.forward_seconds(), trace.backward_seconds())
        for piece in trace.pulled:
            self._pull_sizes.add(piece.segment, piece.size)
        for piece in trace.sent:
            self._push_sizes.add(piece.segment, piece.size)
        for transfer in trace.pull_transfers(self._down):
            self._pulls.add(transfer)
        for transfer in trace.push_transfers(arrived, self._up):
            self._pushes.add(transfer)
        if plan is not self._plan or self._outcome.iterations >= REPLAN:
            self._report_outcome()

    def _report_outcome(self) -> None:
        if self._outcome is not None and self._outcome.iterations:
            self._report(self._outcome.record(self._node, self._now - self._zero))

    def _planned(self) -> IterationPlan:
        """Return the next iteration's plan. Make a new plan if the last has served its time."""
        following = self._done + 1
        if self._plan is None or following >= self._plan.first + self._every:
            self._plan = self._new_plan(following)
        return self._plan

    def _new_plan(self, first: int) -> IterationPlan:
        """Return a plan for the iterations from `first` on, by the estimates of the costs."""
        self._down = fit(self._pulls.take(), self._down, self._least_down)
        self._up = fit(self._pushes.take(), self._up, self._least_up)
        forward, backward = self._computing.means()
        costs = LayerCosts(
            pull=tuple(size * self._down.pace for size in self._pull_sizes.means()),
            forward=forward,
            backward=backward,
            push=tuple(size * self._up.pace for size in self._push_sizes.means()),
            # each segment has a head, too: a cost of the segment, not of a layer
            pull_setup=self._down.setup + self._head * self._down.pace,
            push_setup=self._up.setup + self._head * self._up.pace,
        )
        rest = max(0.0, median(self._rests)) if self._rests else 0.0
        cuts = cut(self._schedule, costs)
        return IterationPlan(first, self._schedule.kind, cuts, costs, self._down, self._up, rest)


MOST_ITERATIONS = 32
"""Largest number of iterations that an average is taken of."""
LEAST_ITERATIONS = 5
"""Iterations that an average is taken of after a shorter interval, if there are as many."""


class ComputingAverage:
    """Means over the iterations since the last plan, without the slowest and fastest of them.

    Whole iterations are left out, not single times: under a CPU quota each iteration stops for a
    while, in another layer each time, and that belongs to its cost.
    """

    def __init__(self, forward: tuple[float, ...], backward: tuple[float, ...]) -> None:
        """Begin with the seconds of each layer in `forward` and `backward`, until measured."""
        self._means = np.array([*forward, *backward])
        self._rows = RecentRows(self._means.size, MOST_ITERATIONS, LEAST_ITERATIONS)

    def add(self, forward: list[float], backward: list[float]) -> None:
        """Add an iteration: the seconds of each layer, layer 1 first."""
        self._rows.add([*forward, *backward])

    def means(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the mean seconds of each layer, forward and backward, since the last call."""
        rows = self._rows.take()
        if len(rows):
            order = rows.sum(axis=1).argsort(kind="stable")
            # a tenth at both ends, and one of five
            cut = max(len(order) // 10, int(len(order) >= LEAST_ITERATIONS))
            self._means = rows[order[cut : len(order) - cut]].mean(axis=0)
        forward, backward = self._means.reshape(2, -1).tolist()
        return tuple(forward), tuple(backward)


class LayerSizes:
    """Mean bytes of the layers in a direction, over the iterations since the last plan.

    A segment tells the sum of the layers' bytes; a layer takes part in a change by its share.
    """

    def __init__(self, sizes: Sequence[float], head: float) -> None:
        """Begin with `sizes`; a segment needs `head` bytes beside its layers."""
        self._sizes = [*sizes]
        self._head = head
        # bytes and number of messages of each segment since the last plan; a plan and its
        # predecessor have at most two segments for each layer
        self._seen: dict[Segment, tuple[int, int]] = {}

    def add(self, segment: Segment, size: int) -> None:
        """Add a message of `size` bytes with the layers of `segment`."""
        total, messages = self._seen.get(segment, (0, 0))
        self._seen[segment] = total + size, messages + 1

    def means(self) -> tuple[float, ...]:
        """Return the layers' mean bytes since the last call; without a message the last means."""
        for segment, (total, messages) in self._seen.items():
            self._share(segment, max(0.0, total / messages - self._head))
        self._seen.clear()
        return tuple(self._sizes)

    def _share(self, segment: Segment, content: float) -> None:
        """Give the layers of `segment` their shares of `content` bytes."""
        layers = slice(segment[0] - 1, segment[1])
        held = self._sizes[layers]
        known = sum(held)
        self._sizes[layers] = [
            content * each / known if known else content / len(held) for each in held
        ]
