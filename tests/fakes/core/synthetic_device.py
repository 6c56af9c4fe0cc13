"""A device that a scheduler plans for: a link and a processor that keep to given costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from emulator.core.scheduling.prior_costs import LinkEstimate, PriorCosts
from emulator.core.scheduling.scheduler import Scheduler
from emulator.core.wire.messages import Times
from emulator.layout import Segment
from emulator.log.records.plan_records import IterationRecord, PlanRecord
from emulator.schedules import DynaComm, Schedule, Segments

ZERO = 1000.0
"""Reading of the clock at the run's zero."""

COSTS = PriorCosts(
    forward=(0.010, 0.030, 0.010, 0.005),
    backward=(0.020, 0.060, 0.020, 0.010),
    pull=(1000.0, 40_000.0, 400_000.0, 20_000.0),
    push=(1000.0, 40_000.0, 400_000.0, 20_000.0),
    down=LinkEstimate(setup=0.005, pace=1e-7, delay=0.020),
    up=LinkEstimate(setup=0.005, pace=2e-7, delay=0.030),
    head=80.0,
)
"""Four layers; 84 mbit down and 42 mbit up; set-up 5 ms."""


class Reports:
    """Keeps the records of a scheduler."""

    def __init__(self) -> None:
        self.plans: list[PlanRecord] = []
        self.iterations: list[IterationRecord] = []

    def __call__(self, record: PlanRecord | IterationRecord) -> None:
        records = self.plans if isinstance(record, PlanRecord) else self.iterations
        records.append(record)  # type: ignore[arg-type]


@dataclass
class SyntheticDevice:
    """Plays iterations as its scheduler cuts them. `costs` may change between iterations."""

    scheduler: Scheduler
    reports: Reports
    costs: PriorCosts = COSTS
    noise: Callable[[], float] = lambda: 1.0
    """Draws a factor for each transfer and each layer's computing."""
    late: Callable[[], float] = lambda: 0.0
    """Draws the seconds by which a message arrives late."""
    waits: float = 0.050
    """Seconds from the moment at which a pull has left the device to its answer."""
    single_threaded: bool = False
    """Whether a piece that arrives during computing is found, and stamped, only afterwards."""
    now: float = ZERO
    left: float = ZERO
    """When the last bit of the last update left the device."""
    told: tuple[float, ...] = ()
    """When the server got the pieces of the last update."""

    @classmethod
    def with_schedule(
        cls, schedule: Schedule, prior: PriorCosts = COSTS, **settings: object
    ) -> "SyntheticDevice":
        """Make a device whose scheduler begins with `prior`."""
        reports = Reports()
        scheduler = Scheduler("pi", schedule, prior, reports)
        scheduler.started(ZERO)
        return cls(scheduler, reports, **settings)  # type: ignore[arg-type]

    def iterate(self, times: int = 1) -> None:
        """Play whole iterations."""
        for _ in range(times):
            cuts = self.scheduler.cuts()
            self.begin()
            self.pull(cuts.pull)
            self.push(cuts.push)

    def begin(self) -> None:
        """Send a pull."""
        self.scheduler.begin(self.now)

    def pull(self, segments: Segments) -> None:
        """Receive `segments` and compute on them."""
        down = self.costs.down
        # the pull follows the update on the same link
        left = answered = max(self.now, self.left) + self.waits
        self.scheduler.told(Times(answered, self.told))
        for number, segment in enumerate(segments):
            size = self.size(self.costs.pull, segment)
            left += (down.setup + size * down.pace) * self.noise()
            arrived = left + down.delay + self.late()
            found = self.single_threaded and number > 0 and arrived < self.now
            self.scheduler.arrived(segment, size, self.now if found else arrived, found)
            seconds = self.seconds(self.costs.forward, segment)
            began = max(self.now, arrived)
            self.now = began + sum(seconds)
            self.scheduler.forward(segment, seconds, began, self.now)

    def push(self, segments: Segments) -> None:
        """Compute the gradients of `segments` and send them."""
        up = self.costs.up
        left, told = self.now, []
        for segment in segments:
            seconds = self.seconds(self.costs.backward, segment)
            began, self.now = self.now, self.now + sum(seconds)
            self.scheduler.backward(segment, seconds, began, self.now)
            size = self.size(self.costs.push, segment)
            self.scheduler.handed(segment, size, self.now)
            left = max(left, self.now) + (up.setup + size * up.pace) * self.noise()
            told.append(left + up.delay + self.late())
        self.left, self.told = left, tuple(told)

    def size(self, layers: Sequence[float], segment: Segment) -> int:
        """Return the bytes of a message with the layers of `segment`."""
        first, last = segment
        return round(sum(layers[first - 1 : last]) + self.costs.head)

    def seconds(self, layers: Sequence[float], segment: Segment) -> list[float]:
        """Return the seconds of each layer of `segment`."""
        first, last = segment
        return [each * self.noise() for each in layers[first - 1 : last]]


def factors(name: str, deviation: float) -> Callable[[], float]:
    """Return a seeded source of factors around 1, a few of them far too large."""
    rng = Random(f"tests/synthetic-device/{name}")

    def draw() -> float:
        outlier = 3.0 if rng.random() < 0.03 else 1.0
        return outlier * max(0.0, rng.gauss(1.0, deviation))

    return draw


EVERY = 20
"""Iterations of a `planned_device` between two plans."""


def planned_device(schedule: Schedule | None = None, **settings: Any) -> SyntheticDevice:
    """Return a device that plans with `schedule`, or else with DynaComm."""
    return SyntheticDevice.with_schedule(schedule or DynaComm(replan=EVERY), **settings)
