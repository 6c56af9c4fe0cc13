"""Record types: a Struct for each kind of line in `run.jsonl`.

A line names its kind under `what`, which is the tag of the Struct. Fields stand in the line in
the order of their declaration, behind `at` and `what`. A field with a default is optional: the
line has it only if its value differs from the default. The tables of `docs/run-folder.md` are
made from these Structs and their docstrings (`python -m tests.log.record_tables`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, get_args

from ...layout import Kind
from .fault_records import (
    BatteryRecord,
    FaultRecord,
    LinkChangeRecord,
    OverlapRecord,
    verb_records,
)
from .fidelity_records import HostRecord, LinkRecord
from .plan_records import IterationRecord, PlanRecord
from .record_fields import LogRecord, Share, Size, Time, kind


class HelloRecord(LogRecord, tag="hello"):
    """A device or the evaluator connected. The first eight hellos of a node in a row have a
    record each, further ones one in 2 s. A hello beyond that is taken, and counts as refused; so
    does a goodbye."""

    node: str
    """Name of the device, or `evaluator`."""
    incarnation: int
    """Boots of the node before this one."""


class GoodbyeRecord(LogRecord, tag="goodbye"):
    """A device said goodbye to the server, which waits for it no more until its next `hello`."""

    node: str
    """Name of the device."""


class StartRecord(LogRecord, tag="start"):
    """Every node has said hello: the run's zero."""

    devices: int
    """Number of devices."""
    zero: Time
    """Reading of the server's clock: the host's monotonic clock, or seconds since the virtual
    world began."""


class PullRecord(LogRecord, tag="pull"):
    """The server sent the model to a node.

    Pulls of a node that made nothing of the model that it was sent before have a record for the
    first, the 2nd, 4th, 8th and so on, and one before the node's next pull of another kind.
    """

    node: str
    """Receiver of the model: a device, or `evaluator`."""
    version: int
    """Version of the model that was sent."""
    bytes: Size
    """Size of the message on the wire, or of all of them."""
    segments: int = 1
    """Messages in which the model travelled, each with a segment of layers; 1 if absent."""
    count: int = 1
    """Pulls since the record before, all in `bytes`; 1 if absent."""


class UpdateRecord(LogRecord, tag="update"):
    """The server applied a push to the model."""

    node: str
    """Device that pushed."""
    version: int
    """Version of the model after the update."""
    updates: int
    """Updates applied so far, this one included."""
    staleness: int
    """Updates that the server applied between this device's pull and this push; in a record with a
    `group`, steps."""
    divisor: float | None
    """Mean, over the entries sent, of the number by which the modulation divided the step; 1 for
    `constant`. It counts steps, of several updates each where devices are synchronized. Null if
    nobody learns (`virtual.learner: none`)."""
    loss: float | None
    """Loss on the device's mini-batch before the step; the mean of several if the device trains
    alone for a while. Null if it is not finite, or if nobody learns."""
    compute: Time
    """Duration of the computation of the gradient, or of all of them."""
    entries: int
    """Coordinates that the push held."""
    values: Size
    """Part of the message that holds values, signs and ternary codes."""
    indices: Size
    """Part of the message that holds the coordinates' indices."""
    headers: Size
    """Part of the message that holds its head and the codec's own headers."""
    framing: Size
    """Part of the message that is ZMTP framing. The four parts add up to the message."""
    paper: Mapping[Kind, int | float] | None = None
    """Bytes by kind of layer as the codec's paper counts them, without the part that only a
    decoder needs: `{"conv": 941.0, "dense": 8130.0, "bias": 824.0}`. Only for a codec whose paper
    has an accounting of its own (`adacomp-residual`)."""
    segments: int = 1
    """Messages in which the push travelled, each with a segment of layers; 1 if absent. The four
    parts are sums over these messages."""
    group: int | None = None
    """Number of the device's compute group, from 0; absent with one group, or one for each
    device."""
    again: bool = False
    """Whether the push waited in the state with which the server came back, and a lost update has
    it already: then its bytes are in that record, and the four parts here are 0."""
    skew: Time | None = None
    """Seconds between the arrivals of the first and of the last part of the push at the shards of
    the server (`server.shards`); absent without shards."""


class CompressionRecord(LogRecord, tag="compression"):
    """A device measured the update that it pushes, by variable of the model.

    Only with `measure.compression`, in virtual time.
    """

    node: str
    """Device that pushes the update."""
    updates: int
    """Updates that the device has encoded since its boot, this one included."""
    sent: Mapping[str, int]
    """Coordinates that the update holds, by variable: `{"conv1/kernel": 52, "dense/bias": 10}`."""
    residue: Mapping[str, float]
    """Root mean square of what the encoder keeps for later updates, by variable; empty if it keeps
    nothing."""


class ActivationsRecord(LogRecord, tag="activations"):
    """The server computed its layers of a cut model on a device's activations, and answered.

    Only with a `training.fully_connected`. The `update` with the device's own layers follows.
    """

    node: str
    """Device that sent the activations."""
    version: int
    """Version of the device's layers, with which the activations were computed."""
    server_version: int
    """Version of the server's layers after the step that the activations took part in."""
    staleness: int
    """Updates that the server applied to its layers between the pass and the step."""
    rows: int
    """Examples of the mini-batch."""
    up: Size
    """Size on the wire of the device's messages: activations, and labels or the gradient by the
    server's outputs."""
    down: Size
    """Size on the wire of the server's messages: the gradient by the activations, and the outputs
    if labels stay on the device."""
    loss: float | None
    """Loss on the mini-batch; null if it is not finite, or if nobody learns."""


class RefusedRecord(LogRecord, tag="refused"):
    """The server refused a message and went on.

    Refusals of one kind and node have a record for the first, the 2nd, 4th, 8th and so on, and one
    at the end. `layers 1 to 2, expected layers up to 4` is honest where a connection broke between
    the pieces of an update: the first pieces are lost, and the update with them.
    """

    node: str
    """Sender of the message; an address where several nodes share it."""
    reason: str
    """Reason of the latest refusal, in words."""
    count: int = 1
    """Refusals since the record before, of the same kind and node; 1 if absent."""


class QuarantineRecord(LogRecord, tag="quarantine"):
    """A device went into quarantine after repeated refusals, or its quarantine ended.

    In quarantine its messages are dropped without a record. No other device waits for it before its
    first `pull` after the end.
    """

    node: str
    """Name of the device."""
    until: Time | None
    """When the quarantine will end; null in the record of its end."""


class UnsentRecord(LogRecord, tag="unsent"):
    """A message of the server could not leave, as its receiver was out of reach.

    The `pull` of a model stands before it. Such messages have a record for the first of a node, the
    2nd, 4th, 8th and so on, and one at the end.
    """

    node: str
    """Receiver of the message."""
    message: str
    """The latest message in words, as `model 120`."""
    bytes: Size
    """Size that the messages since the record before would have had on the wire."""
    segments: int = 1
    """Messages since the record before, several of a model in segments of layers; 1 if absent."""
    count: int = 1
    """Answers since the record before, each in one message or in segments; 1 if absent."""


class LeftOutRecord(LogRecord, tag="left_out"):
    """Steps were made without a device, which was given up after the patience.

    The counts are sums since the begin of the run. They have a record when a device is given up for
    the first time, the 2nd, 4th, 8th and so on, for all devices given up at the 1st, 2nd, 4th, 8th
    step and so on, and for each device at the end.
    """

    node: str
    """Name of the device."""
    steps: int
    """Steps without the device, from the time at which it was given up until its next gradient. Of
    `fedavg` and `local-sgd` they are rounds for which the device was drawn."""
    of: int
    """Steps until now; of `groups` those of the device's group."""


class DivergedRecord(LogRecord, tag="diverged"):
    """A device found a gradient that is not finite. One record for each version that the device was
    sent; further reports on the same version count as refused."""

    node: str
    """Device that computed the gradient."""
    version: int
    """Version of the server's model when the device reported the gradient."""


class EvaluationRecord(LogRecord, tag="evaluation"):
    """The model was at `version`, and was kept to be measured on the test set."""

    version: int
    """Version of the model that was measured."""
    updates: int
    """Updates applied by then."""
    accuracy: Share | None
    """Accuracy on the test set; null if it is not finite, or for a regression."""
    loss: float | None
    """Loss on the test set; null if it is not finite."""
    push_bytes: Size
    """Bytes of all pushes that were applied by then."""
    error: float | None = None
    """Mean absolute error of a regression on the test set."""
    scored: Time | None = None
    """When the score came in, if that was later than `at`; absent if it came after the run."""


class MetricRecord(LogRecord, tag="metric"):
    """A program of a workload printed numbers: as a line of JSON, or as a pattern of
    `workload.metrics` finds them."""

    node: str
    """Node of the program: a device, `server` or `driver`."""
    values: Mapping[str, float]
    """The numbers by their names, as the program printed them: `{"accuracy": 0.91}`."""


class UnmeasuredRecord(LogRecord, tag="unmeasured"):
    """Some versions were due to be measured and have no score: at most once, before `stop`.

    The evaluator was slower than the training, and the snapshots that may wait for it were too many
    (64 MiB) or the minute after the end too short; or the run was ended from outside. With
    `evaluate: {when: after}` these versions wait in the run's folder for `emulate resume`.
    """

    versions: list[int]
    """The versions without a score, in ascending order."""


class TrafficRecord(LogRecord, tag="traffic"):
    """A sample of the byte counters of a node's network interface, about each second."""

    node: str
    """Node of the interface: a device, `server`, `evaluator`, a bottleneck or a link of the
    network. With `server.shards` also `server_1`, `server_2` and so on, whose bytes are those of
    `server` together."""
    rx: Size
    """Bytes received since the interface exists, and before the run was resumed; of a bottleneck
    those to its members, of a link of the network those of its direction `down`."""
    tx: Size
    """Bytes sent since the interface exists, and before the run was resumed; of a bottleneck those
    of its members to the server, of a link of the network those of its direction `up`."""


class BackgroundRecord(LogRecord, tag="background"):
    """A sample of the bytes of background traffic at a node, about each second; the `traffic` of
    the node does not count them."""

    node: str
    """Device whose link the traffic passes, bottleneck, or link of the network."""
    rx: Size
    """Bytes of frames of the direction `down` since the run's begin."""
    tx: Size
    """Bytes of frames of the direction `up` since the run's begin."""


class LatenessRecord(LogRecord, tag="lateness"):
    """Lateness of packets at the box that delays them, a sample about each second.

    Only runs whose manifest says `packets` as `shaping.delay` have these records, and only if a
    link has delay, jitter or loss.
    """

    packets: int
    """Packets that left since the record before, and those that had waited for a box without a
    core."""
    p50: Time
    """Median of the times by which they left late, or had waited for the box."""
    p99: Time
    """99th percentile of these times."""
    max: Time
    """Longest of these times."""
    cpu: Time
    """Processor time that the box used since the record before, in real seconds."""
    dropped: int = 0
    """Packets dropped since the record before, as their link's queue or its limit had no room."""
    host: str = ""
    """Name of the box's host; empty in a run on one host."""


class CheckpointRecord(LogRecord, tag="checkpoint"):
    """The server saved the model as it was at this time."""

    version: int
    """Version of the model that was saved."""


class RecoveredRecord(LogRecord, tag="recovered"):
    """The server came back after its process had died, and goes on from the state on its disk.

    Only with a `server.durability`. The run's time includes the time for which the server was down,
    but not the time for which a resumed run stood still: its clock goes on from the last record.
    """

    version: int
    """Version of the model from which the server goes on."""
    lost: int
    """Updates with a record before this one that the model no longer holds: those with a higher
    `version`. 0 with `durability: update`, unless the disk has lost bytes."""
    zero: Time
    """Reading of the host's monotonic clock that is the run's zero from here on."""


class ExitRecord(LogRecord, tag="exit"):
    """A node or its container ended unasked."""

    node: str
    """Node that ended: a device, `server` or `evaluator`."""
    code: int | None
    """Exit code, negative for a signal; null if the engine does not report one."""
    cause: str
    """`limit` (the container's own memory limit), `host` (the host ran out of memory), `engine`
    (somebody killed the container through Docker), or empty."""
    reason: str
    """The cause in words."""
    returns: bool = False
    """Whether the node's supervisor starts the node again, though the timeline does not say so: a
    server with `durability`, the evaluator, or a device that a drawn fault `memory` killed."""


class StopRecord(LogRecord, tag="stop"):
    """The end of the run. In virtual time other records of that moment may follow.

    For a condition on the score, as `accuracy`, `at` is when the score came in: the model had that
    score at the `at` of its `evaluation`.
    """

    reason: str
    """The key of the stop condition that held, as `updates`; or `stopped`, `canceled`, `diverged`,
    or `failed`."""
    detail: str = ""
    """The reason in words; absent if there is nothing to add."""


Record: TypeAlias = (
    HelloRecord
    | GoodbyeRecord
    | StartRecord
    | PullRecord
    | UpdateRecord
    | CompressionRecord
    | ActivationsRecord
    | RefusedRecord
    | QuarantineRecord
    | UnsentRecord
    | LeftOutRecord
    | DivergedRecord
    | EvaluationRecord
    | MetricRecord
    | UnmeasuredRecord
    | TrafficRecord
    | BackgroundRecord
    | FaultRecord
    | OverlapRecord
    | PlanRecord
    | IterationRecord
    | BatteryRecord
    | LinkChangeRecord
    | LinkRecord
    | HostRecord
    | LatenessRecord
    | CheckpointRecord
    | RecoveredRecord
    | ExitRecord
    | StopRecord
)
"""Every kind of line in `run.jsonl`."""


def _all_records() -> Iterator[type[Record]]:
    for record_type in get_args(Record):
        if record_type is FaultRecord:
            yield from verb_records()
        else:
            yield record_type


KINDS: Mapping[str, type[Record]] = {
    kind(record_type): record_type for record_type in _all_records()
}
"""The Struct of each `what`."""


def made(what: str, at: float, **facts: Any) -> Record:
    """Return a record of kind `what` with the fields `facts`.

    Raises a KeyError for an unknown kind, a TypeError for a field that is missing or unknown.
    """
    return KINDS[what](at, **facts)
