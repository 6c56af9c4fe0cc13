"""Views of a run that is being played: a live panel on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...layout import Segment
from ...log.records import (
    EvaluationRecord,
    ExitRecord,
    LeftOutRecord,
    QuarantineRecord,
    Record,
    RecoveredRecord,
    RefusedRecord,
    StartRecord,
    StopRecord,
    UnmeasuredRecord,
    UnsentRecord,
)
from ...log.records.fault_records import FaultRecord, OverlapRecord
from ...log.records.plan_records import IterationRecord, PlanRecord
from ...log.targets import Travelled
from .progress import Progress, amount, span, ways

if TYPE_CHECKING:
    from ...scenario import Timed


_MOST = 6
"""Largest number of segments that a line names."""


def describe_plan(record: PlanRecord) -> str:
    """Return the cuts of a plan and its predicted times."""
    return (
        f"plan {record.node}: {record.kind} from iteration {record.iteration}, "
        f"pull {_cuts(record.pull)}, push {_cuts(record.push)}, predicted forward "
        f"{_ms(record.t_forward)}, backward {_ms(record.t_backward)}, "
        f"iteration {_ms(record.t_iteration)}"
    )


def describe_iterations(record: IterationRecord) -> str:
    """Return the median times of a plan's iterations beside the predicted ones."""
    pairs = {
        "forward": (record.t_forward, record.predicted_forward),
        "backward": (record.t_backward, record.predicted_backward),
        "iteration": (record.t_iteration, record.predicted_iteration),
    }
    times = (f"{name} {_ms(took)} ({_ms(due)})" for name, (took, due) in pairs.items())
    first = record.iteration - record.iterations + 1
    return (
        f"iterations {first} to {record.iteration} of {record.node}, median (predicted): "
        f"{', '.join(times)}"
    )


def _cuts(segments: Sequence[Segment]) -> str:
    """Return `segments` as text, for example `1-2|3`; of many, the first few and the number."""
    shown = "|".join(
        str(first) if first == last else f"{first}-{last}" for first, last in segments[:_MOST]
    )
    return shown if len(segments) <= _MOST else f"{shown}|… ({len(segments)} segments)"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"


SHOWN_RECORDS = (
    StartRecord,
    FaultRecord,
    OverlapRecord,
    ExitRecord,
    RecoveredRecord,
    EvaluationRecord,
    UnmeasuredRecord,
    RefusedRecord,
    QuarantineRecord,
    UnsentRecord,
    LeftOutRecord,
    StopRecord,
)
"""Kinds of records that a view shows as a line."""

MOST_LINES = 20
"""Largest number of lines in a second: virtual time may pass a day full of faults in one second."""

MOST_VERSIONS = 8
"""Largest number of versions that a line names."""

Clock = Callable[[], float]
"""Returns seconds of real time: a run's own time may stand still, or pass faster."""


def describe_record(record: Record, travelled: Travelled | None = None) -> str:
    """Return `record` as a line of text; `travelled`: the bytes by then of an evaluation."""
    return f"{record.at:z8.2f} s  {_words(record, travelled)}"  # z: no "-0.00"


def _words(record: Record, travelled: Travelled | None) -> str:
    match record:
        case EvaluationRecord():
            accuracy = "unknown" if record.accuracy is None else f"{record.accuracy:.2%}"
            found = f"accuracy {accuracy}"
            if record.error is not None:
                found = f"mean absolute error {record.error:.4g}"
            text = f"{found} after {record.updates} updates"
            late = "" if record.scored is None else f", scored at {record.scored:.2f} s"
            pushed = record.push_bytes
            spent = f"{amount(pushed)} pushed"
            if travelled:
                spent = ways(pushed, travelled.pulled, pushed + sum(travelled))
            return f"{text}, {spent}{late}"
        case UnmeasuredRecord():
            return f"due, but not measured: the models after {_listed(record.versions)} updates"
        case StartRecord():
            many = record.devices != 1
            who = f"all {record.devices} devices have" if many else "1 device has"
            return f"start: {who} said hello"
        case FaultRecord():
            cause = f"{record.fault}, planned for {record.planned:.2f} s"
            return f"{record.what} {record.node} ({cause})"
        case OverlapRecord():
            if record.planned is not None:
                due = f"{record.fault}, planned for {record.planned:.2f} s"
                return f"{due}, strikes {record.node} under another {record.verb}"
            lasts = "for good" if record.lasts is None else f"for {record.lasts:.2f} s"
            return f"{record.node} drew {record.fault} {lasts}, under another {record.verb}"
        case StopRecord():
            return f"stop: {record.reason}" + (f" ({record.detail})" if record.detail else "")
        case RecoveredRecord():
            updates = "update" if record.lost == 1 else "updates"
            lost = f", {record.lost:,} {updates} lost" if record.lost else ""
            return f"the server goes on from version {record.version:,}{lost}"
        case ExitRecord():
            back = "; its supervisor starts it again" if record.returns else ""
            return f"{record.node} ended unasked: {record.reason}{back}"
        case RefusedRecord():
            times = f" ({record.count} times)" if record.count > 1 else ""
            return f"refused {record.node}: {record.reason}{times}"
        case QuarantineRecord(until=None):
            return f"{record.node} has left quarantine, and is heard again"
        case QuarantineRecord():
            return f"{record.node} is in quarantine until {record.until:.2f} s"
        case UnsentRecord():
            several = record.segments // record.count
            pieces = f" in {several} segments" if several > 1 else ""
            times = f" ({record.count} times)" if record.count > 1 else ""
            return f"{record.message}{pieces} not sent: {record.node} is out of reach{times}"
        case LeftOutRecord():
            made = f"{record.steps} of {record.of} steps"
            return f"left out {record.node}: {made} were made without it, as it was late"
        case PlanRecord():
            return describe_plan(record)
        case IterationRecord():
            return describe_iterations(record)
    facts = record.facts()
    node = facts.pop("node", "")
    others = (f"{key}={_digits(value)}" for key, value in facts.items())
    return " ".join(filter(None, (record.what, node, *others)))


def _digits(value: object) -> str:
    """Return `value` as text; a float with six digits, which leave out rounding noise."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _listed(versions: Sequence[int]) -> str:
    """Return the first few of `versions` as text, for example `400, 600, 800 …`."""
    return ", ".join(map(str, versions[:MOST_VERSIONS])) + (
        " …" if len(versions) > MOST_VERSIONS else ""
    )


class ConsoleLines:
    """Prints records as lines, at most `MOST_LINES` a second, and counts the lines left out."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console, self._clock = console, clock
        self._second, self._printed, self._left_out = -1, 0, 0

    def show(self, record: Record, travelled: Travelled | None = None) -> None:
        """Print `record` as `describe_record` words it, if its kind is shown.

        In a full second count the record instead.
        """
        if not isinstance(record, SHOWN_RECORDS):
            return
        if (second := int(self._clock())) != self._second:
            self._second, self._printed = second, 0
        self._printed += 1
        if self._printed <= MOST_LINES or isinstance(record, StartRecord | StopRecord):
            self.catch_up()
            self.say(describe_record(record, travelled))
        else:
            self._left_out += 1

    def catch_up(self) -> None:
        """Print the number of lines left out since the last printed line, if there are any."""
        if self._left_out:
            self.say(f"{'...':>10}  {self._left_out} more lines are in the log")
            self._left_out = 0

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


class Pace:
    """The rest of a run in real time, estimated from the speed since the run began."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: float | None = None

    def begin(self) -> None:
        if self._begun is None:
            self._begun = self._clock()

    def words(self, share: float | None) -> str:
        """Return the progress for the done `share`, for example `25% done, 3 min left`.

        The text is empty while the share is unknown or zero.
        """
        if not share or self._begun is None:
            return ""
        left = (self._clock() - self._begun) * (1 - share) / share
        return f"{share:.0%} done, {span(left)} left" if share < 1 else "100% done"


class StartUpStep:
    """The current step of a run's start-up, with the time since the step began.

    Texts that begin with the same word belong to the same step: only their numbers change.
    """

    def __init__(self, clock: Clock, text: str = "") -> None:
        self._clock, self.text = clock, text
        self._begun = clock()

    def take(self, text: str) -> bool:
        """Take the text of the current step; return whether another step has begun."""
        new = text.split(" ", 1)[0] != self.text.split(" ", 1)[0]
        if new:
            self._begun = self._clock()
        self.text = text
        return new

    def words(self) -> str:
        """Return the step with its seconds, for example `waiting for 3 of 9 nodes ... 12 s`."""
        elapsed = self._clock() - self._begun
        return f"{self.text} ..." + (f" {elapsed:.0f} s" if elapsed >= 1 else "")


class PlainRunView:
    """Prints notable records as lines, and a line on the progress every `every` seconds."""

    def __init__(
        self,
        progress: Progress,
        console: Console,
        every: float = 10.0,
        clock: Clock = time.monotonic,
    ) -> None:
        self._progress, self._every, self._clock = progress, every, clock
        self._lines, self._pace = ConsoleLines(console, clock), Pace(clock)
        self._step, self._due, self._again = StartUpStep(clock), -1.0, 0.0

    def take_timeline(self, timeline: "Sequence[Timed]") -> None:
        self._progress.timeline = timeline

    def progress(self, text: str) -> None:
        # without a live panel a growing count is printed every few seconds only
        if self._step.take(text) or self._again <= self._clock():
            self._again = self._clock() + self._every
            self._lines.say(self._step.words())

    def record(self, record: Record) -> None:
        self._progress.take(record)
        self._lines.show(record, self._progress.before(record))
        if isinstance(record, StartRecord):
            self._pace.begin()
            self._due = self._clock() + self._every

    def beat(self, now: float) -> None:
        self._progress.beat(now)
        if 0 < self._due <= self._clock():
            self._due = self._clock() + self._every
            self._lines.catch_up()
            parts = (status(self._progress), self._pace.words(self._progress.share))
            self._lines.say(f"{now:8.2f} s  {', '.join(filter(None, parts))}")

    def __enter__(self) -> "PlainRunView":
        return self

    def __exit__(self, *error: object) -> None:
        return None


def status(progress: Progress) -> str:
    """Return updates, speed, devices and bytes of `progress` on one line; of a workload the
    devices, the bytes at the server's interface, and its metrics."""
    if progress.workload:
        up, down = progress.at_server
        return ", ".join(
            [
                f"{progress.up}/{len(progress.devices)} devices up",
                f"{amount(up)} to the server, {amount(down)} from it",
                *_metrics(progress),
            ]
        )
    goal = f"/{progress.goal}" if progress.goal else ""
    return (
        f"{progress.updates}{goal} updates, {progress.speed:.1f} updates/s, "
        f"{progress.up}/{len(progress.devices)} devices up, "
        f"{ways(progress.pushed, progress.travelled.pulled, progress.both)}"
        + (f", {amount(progress.crossed)} of activations" if progress.crossed else "")
        + (", accuracy at the end" if progress.later else "")
    )


def _metrics(progress: Progress) -> list[str]:
    """Return the first metrics of the server or the driver in words."""
    first = list(progress.metrics.items())[:MOST_METRICS]
    return [f"{name} {value:.4g}" for name, value in first]


MOST_METRICS = 4
"""Largest number of metrics that a view shows."""


class LiveRunView:
    """A panel that stays in place on a terminal, with notable records scrolling above the panel."""

    def __init__(
        self, progress: Progress, console: Console, title: str, clock: Clock = time.monotonic
    ) -> None:
        self._progress, self._title, self._step = progress, title, StartUpStep(clock, "starting")
        self._lines, self._pace = ConsoleLines(console, clock), Pace(clock)
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=4)

    def take_timeline(self, timeline: "Sequence[Timed]") -> None:
        self._progress.timeline = timeline

    def progress(self, text: str) -> None:
        self._step.take(text)

    def record(self, record: Record) -> None:
        self._progress.take(record)
        self._lines.show(record, self._progress.before(record))
        if isinstance(record, StartRecord):
            self._step.take("")
            self._pace.begin()

    def beat(self, now: float) -> None:
        self._progress.beat(now)

    def _draw(self) -> Panel:
        progress = self._progress
        if self._step.text:
            return Panel(Text(self._step.words()), title=Text(self._title), title_align="left")
        if progress.workload:
            return Panel(self._work(), title=Text(self._title), title_align="left")
        unknown = "at the end" if progress.later else "not yet"
        accuracy = unknown if progress.accuracy is None else f"{progress.accuracy:.2%}"
        grid = Table.grid(padding=(0, 3))
        now, updates = f"{progress.now:.0f} s", f"{progress.updates}"
        now += f" of {progress.limit:.0f} s" if progress.limit else ""
        updates += f" of {progress.goal}" if progress.goal else ""
        grid.add_row("time", now, "updates", updates)
        grid.add_row("devices up", _devices(progress), "updates/s", f"{progress.speed:.1f}")
        score = ("accuracy", accuracy)
        if progress.error is not None:
            score = ("mean absolute error", f"{progress.error:.4g}")
        grid.add_row(*score, "pushed", amount(progress.pushed))
        both = "both directions", amount(progress.both)
        grid.add_row(*both, "pulled", amount(progress.travelled.pulled))
        if progress.crossed:
            grid.add_row("", "", "activations", amount(progress.crossed))
        grid.add_row("next fault", progress.next_fault, "refused", str(progress.refused))
        if late := progress.most_left_out:
            more = len(progress.left_out) - 1
            others = f", {more} more" if more else ""
            grid.add_row("left out", f"{late.node}: {late.steps} of {late.of} steps{others}")
        if pace := self._pace.words(progress.share):
            grid.add_row("progress", pace)
        return Panel(grid, title=Text(self._title), title_align="left")

    def _work(self) -> Table:
        """Return the state of a workload."""
        progress, grid = self._progress, Table.grid(padding=(0, 3))
        up, down = progress.at_server
        limit = f" of {progress.limit:.0f} s" if progress.limit else ""
        metrics = ", ".join(_metrics(progress)) or "none yet"
        grid.add_row("time", f"{progress.now:.0f} s{limit}", "to the server", amount(up))
        grid.add_row("devices up", _devices(progress), "from the server", amount(down))
        grid.add_row("metrics", metrics, "next fault", progress.next_fault)
        return grid

    def __enter__(self) -> "LiveRunView":
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()


def _devices(progress: Progress) -> str:
    down = progress.down
    if not down:
        return f"{progress.up}"
    names = ", ".join(nsmallest(4, down)) + (" …" if len(down) > 4 else "")
    return f"{progress.up} (down: {names})"
