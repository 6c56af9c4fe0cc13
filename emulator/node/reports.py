"""Reports: lines of JSON from a part to its supervisor, and from supervisors to the conductor.

A part writes to a pipe of its own, a supervisor and the box write to standard output. The reader
trusts none of them: a line that is not JSON, of an unknown kind, or with a value out of bounds, is
written to the node's log as text.
"""

import os
import sys
import time
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from ..world import verbs
from ..world.verbs import Setting
from .config import Delay

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << 62)]
Amount: TypeAlias = Annotated[float, Meta(ge=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]


class Report(
    msgspec.Struct,
    frozen=True,
    tag_field="what",
    tag=lambda name: name.removesuffix("Report").lower(),
    omit_defaults=True,
):
    """A report; its line names the kind."""

    @property
    def what(self) -> str:
        """The report's kind, as `traffic`."""
        return str(self.__struct_config__.tag)

    def facts(self) -> dict[str, Any]:
        """Return the fields by name."""
        return msgspec.structs.asdict(self)


class ReadyReport(Report, frozen=True):
    """The link is shaped, and the part runs."""


class FailedReport(Report, frozen=True):
    """The supervisor could not set the node up."""

    detail: str


class LostReport(Report, frozen=True):
    """The device is gone for good, which no report of a verb says."""


class TrafficReport(Report, frozen=True):
    """A sample of the counters of the node."""

    rx: Count
    """Bytes received; `tx` sent."""
    tx: Count
    cpu: Annotated[list[Amount], Meta(min_length=2, max_length=3)] | None = None
    """Processor time in seconds, as `cpu_use` returns it; None: unknown."""


class LinkReport(Report, frozen=True):
    """A direction of the link as measured, in the fields of a `LinkRecord`."""

    way: Annotated[str, Meta(pattern=r"^(up|down)\Z")]
    lasts: Amount
    busy: Amount = 0.0
    rate: Amount | None = None
    stretches: Count = 1
    requested_rate: Amount | None = None
    echoes: Count = 0
    late: Count = 0
    delay: Amount | None = None
    requested_delay: Amount = 0.0
    jitter: Amount | None = None
    requested_jitter: Amount = 0.0
    held: Amount = 0.0
    packets: Count = 0
    lost: Count = 0
    requested_loss: Share = 0.0
    behind: str = ""
    bursts: bool = False


class LinkChangeReport(Report, frozen=True, tag="link_change"):
    """The link has changed by itself, later than ever before."""

    changes: Count
    late: float


class DelayReport(Report, frozen=True):
    """The server has to hold the messages of the node for `delay` from now on."""

    delay: Delay

    def __post_init__(self) -> None:
        if min(msgspec.structs.astuple(self.delay)) < 0:
            raise ValueError("a delay is negative")


class ExitReport(Report, frozen=True):
    """The part ended unasked."""

    code: Annotated[int, Meta(ge=-255, le=255)]
    """Exit code, negative for a signal."""
    cause: Annotated[str, Meta(pattern=r"^(limit|host|memory)?\Z")] = ""
    """As `memory_cause` returns it."""
    returns: bool = False
    """Whether the supervisor starts the part again, though the timeline does not say so."""


class VerbReport(Report, frozen=True):
    """A verb was done to the node."""

    verb: str
    fault: str
    """Kind of the fault that holds the node, or held it."""
    planned: float | None = None
    """When the timeline has the verb; None: the device has drawn the fault itself."""
    setting: Setting | None = None

    def __post_init__(self) -> None:
        verbs.row(self.verb)


class OverlapReport(Report, frozen=True):
    """A fault came while another one of its verb held the node."""

    fault: str
    verb: str
    lasts: Amount | None = None
    """Seconds of a drawn fault; None: for good, or it is of the timeline."""
    planned: float | None = None
    """As in a `VerbReport`."""

    def __post_init__(self) -> None:
        verbs.row(self.verb)


class BatteryReport(Report, frozen=True):
    """The charge of the device's battery."""

    charge: Share


class QuotaReport(Report, frozen=True):
    """The supervisor asks the conductor to lift the device's CPU quota, or to put it back."""

    lifted: bool
    press: Count
    """Number of the change of memory for which the supervisor asks."""


class ForkReport(Report, frozen=True):
    """The supervisor asks the conductor to have the part forked."""

    stdin: Count
    """Descriptor of the supervisor that is to be the part's standard input; `control` is that of
    the pipe for the part's reports."""
    control: Count
    incarnation: Count


class ProgramReport(Report, frozen=True):
    """A sidecar asks the conductor to do something to the container of the program."""

    do: Annotated[str, Meta(pattern=r"^(start|kill|stop|freeze|thaw)\Z")]
    ask: Count
    """Number of the request."""
    life: Count
    """Number of the program's start that it concerns, from 0."""


class DrawnReport(Report, frozen=True):
    """The device has drawn a fault."""

    fault: str
    begin: str
    """Verb that begins the fault."""
    end: str
    """Verb that ends the fault."""
    lasts: Amount | None
    """Seconds; None: the fault lasts for good."""
    setting: Setting | None = None

    def __post_init__(self) -> None:
        row = verbs.row(self.begin)
        if (row.name, row.undone_by) != (self.begin, self.end):
            raise ValueError(f"{self.end} does not end {self.begin}")
        if row.tunable and self.setting is None:
            raise ValueError(f"{self.begin} has no setting")


class RecordReport(Report, frozen=True):
    """A record that the part has made itself, a `plan` or an `iteration`."""

    record: msgspec.Raw
    """Its JSON, which the conductor checks."""


class BegunReport(Report, frozen=True):
    """The run's zero was at the time `zero` of the clock, as a device with a battery heard."""

    zero: float


PartReport: TypeAlias = BegunReport | DrawnReport | RecordReport
"""A report of a part to its supervisor."""

NodeReport: TypeAlias = (
    ReadyReport
    | FailedReport
    | LostReport
    | TrafficReport
    | LinkReport
    | LinkChangeReport
    | DelayReport
    | ExitReport
    | VerbReport
    | OverlapReport
    | BatteryReport
    | QuotaReport
    | ForkReport
    | ProgramReport
    | DrawnReport
    | RecordReport
)
"""A report of a supervisor to the conductor."""


class Stamped(msgspec.Struct, frozen=True):
    """The line of a report to the conductor."""

    now: float
    """The host's monotonic clock."""
    report: NodeReport


class BoxLine(
    msgspec.Struct,
    frozen=True,
    tag_field="box",
    tag=lambda name: name.removesuffix("Line").lower(),
):
    """A line of the box, which names the kind."""


class ReadyLine(BoxLine, frozen=True):
    """The box takes requests."""


class LatenessLine(BoxLine, frozen=True):
    """How late frames left the box since the line before, in the fields of a `LatenessRecord`."""

    time: float
    """The host's monotonic clock."""
    packets: Count
    p50: Amount
    p99: Amount
    max: Amount
    dropped: Count
    cpu: Amount


AnyBoxLine: TypeAlias = ReadyLine | LatenessLine

encode = msgspec.json.Encoder().encode
_stamped = msgspec.json.Decoder(Stamped)
_part: msgspec.json.Decoder[PartReport] = msgspec.json.Decoder(PartReport)
_box: msgspec.json.Decoder[AnyBoxLine] = msgspec.json.Decoder(AnyBoxLine)

NO_REPORT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors that the decoder raises for a line that is no report."""


def decode(line: str) -> Stamped | None:
    """Return the report in `line`, which a container has printed; None if it is another line."""
    try:
        return _stamped.decode(line)
    except NO_REPORT:
        return None


def decode_part(line: bytes) -> PartReport | None:
    """Return the part's report in `line`; write another line to the node's log, return None."""
    try:
        return _part.decode(line)
    except NO_REPORT as error:
        text = line[:200].decode(errors="replace")
        print(f"no report of a part ({error}): {text}", file=sys.stderr, flush=True)
        return None


def decode_box(line: str) -> AnyBoxLine | None:
    """Return the `line` of the box; None if it is another line."""
    try:
        return _box.decode(line)
    except NO_REPORT:
        return None


def now() -> float:
    """Return the time that a report of this moment has: the host's monotonic clock."""
    return time.monotonic()


def say(report: NodeReport, at: float | None = None) -> None:
    """Write `report` to the conductor, as of the time `at`, by `now`; None is this moment."""
    stamped = Stamped(now() if at is None else at, report)
    os.write(sys.stdout.fileno(), encode(stamped) + b"\n")
