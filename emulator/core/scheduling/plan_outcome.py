"""A device's plan for the next iterations, and the record of the iterations under a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from ...log.records.plan_records import IterationRecord, PlanRecord
from ...schedules import timing
from ...schedules.base import Cuts, LayerCosts, Segments
from ...schedules.timing import IterationTiming
from ..wire.messages import Times
from .iteration_trace import IterationTrace, Spans
from .prior_costs import LinkEstimate


@dataclass(frozen=True)
class IterationPlan:
    """Cuts for the iterations from `first` on, and the predicted times."""

    first: int
    kind: str
    """The schedule's."""
    cuts: Cuts
    costs: LayerCosts
    down: LinkEstimate
    up: LinkEstimate
    rest: float
    """Seconds of an iteration outside of both phases, as measured so far."""

    def timing(self) -> IterationTiming:
        """Return the predicted spans of both phases."""
        return timing.iteration(self.cuts, self.costs)

    def record(self, node: str, at: float) -> PlanRecord:
        """Return the record of this plan of the device `node`."""
        found, costs = self.timing(), self.costs
        return PlanRecord(
            at=at,
            node=node,
            iteration=self.first,
            kind=self.kind,
            pull=[*self.cuts.pull],
            push=[*self.cuts.push],
            t_forward=float(found.forward.seconds),
            t_backward=float(found.backward.seconds),
            t_iteration=float(found.seconds) + self.rest,
            pull_setup=float(costs.pull_setup),
            push_setup=float(costs.push_setup),
            down_rate=self.down.rate,
            up_rate=self.up.rate,
            pull_times=[*map(float, costs.pull)],
            forward_times=[*map(float, costs.forward)],
            backward_times=[*map(float, costs.backward)],
            push_times=[*map(float, costs.push)],
            pulled=_floats(found.forward.transfers),
            forward=_floats(_blocks(found.forward.computes, self.cuts.pull)),
            backward=_floats(_blocks(found.backward.computes, self.cuts.push)),
            pushed=_floats(found.backward.transfers),
        )


class Measured(NamedTuple):
    """Seconds of an iteration."""

    forward: float
    backward: float
    whole: float

    @property
    def rest(self) -> float:
        """Seconds outside of both phases: the request, the server, the wait for other devices."""
        return self.whole - self.forward - self.backward


class PlanOutcome:
    """The iterations under a plan, since the last record."""

    def __init__(self, plan: IterationPlan) -> None:
        self.plan = plan
        self._measured: list[Measured] = []
        self._last = 0
        self._spans: tuple[Spans, Spans, Spans, Spans] = ([], [], [], [])

    @property
    def iterations(self) -> int:
        """Number of iterations since the last record."""
        return len(self._measured)

    def add(self, number: int, trace: IterationTrace, times: Times) -> Measured:
        """Add iteration `number`, and return the times of the iteration.

        `times` came with the answer to the pull of the next iteration. An iteration lasts from one
        answer to the next: a device sends a pull while the pieces of its update still wait for the
        link, so from pull to pull the first iteration would look too short.
        """
        down, up, arrived = self.plan.down, self.plan.up, times.arrived
        assert trace.answered is not None
        measured = Measured(
            trace.t_forward(down), trace.t_backward(arrived, up), times.answered - trace.answered
        )
        self._measured.append(measured)
        self._last = number
        self._spans = (
            trace.pull_spans(down),
            trace.forward_spans(down),
            trace.backward_spans(),
            trace.push_spans(arrived, up),
        )
        return measured

    def record(self, node: str, at: float) -> IterationRecord:
        """Return the record of the iterations since the last record, and forget them."""
        found = self.plan.timing()
        pulled, forward, backward, pushed = self._spans
        record = IterationRecord(
            at=at,
            node=node,
            iteration=self._last,
            iterations=self.iterations,
            pull=[*self.plan.cuts.pull],
            push=[*self.plan.cuts.push],
            t_forward=median(measured.forward for measured in self._measured),
            t_backward=median(measured.backward for measured in self._measured),
            t_iteration=median(measured.whole for measured in self._measured),
            predicted_forward=float(found.forward.seconds),
            predicted_backward=float(found.backward.seconds),
            predicted_iteration=float(found.seconds) + self.plan.rest,
            pulled=pulled,
            forward=forward,
            backward=backward,
            pushed=pushed,
        )
        self._measured.clear()
        return record


def _blocks(computes: Sequence[timing.Span], segments: Segments) -> list[timing.Span]:
    """Return the spans in which `segments` are computed; `computes` holds the layers' spans."""
    blocks = []
    for first, last in segments:
        spans = computes[first - 1 : last]
        blocks.append((min(span[0] for span in spans), max(span[1] for span in spans)))
    return blocks


def _floats(spans: Sequence[timing.Span]) -> Spans:
    return [(float(began), float(ended)) for began, ended in spans]
