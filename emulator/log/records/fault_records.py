"""Records of faults: a Struct for `timeline.jsonl`, and Structs for the lines of `run.jsonl`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from ...world.verbs import VERBS
from .record_fields import LogRecord, Share, Time


class TimelineRecord(msgspec.Struct, gc=False):
    """A line of `timeline.jsonl`: a verb of the schedule."""

    at: Time
    """When the verb is due, since the run's zero."""
    verb: str
    """Name of the verb, as `kill`."""
    node: str
    """Device that the verb is done to."""
    fault: str
    """Kind of the fault that asks for the verb."""
    begins: bool
    """Whether the fault begins with the verb; otherwise it ends."""
    setting: Mapping[str, Any] | None = None
    """Setting of the verb; absent for a verb without one, and for the end of a fault."""

    def line(self) -> str:
        """Return the line of JSON, with its newline."""
        plain = msgspec.structs.asdict(self)
        if self.setting is None:
            del plain["setting"]
        return json.dumps(plain) + "\n"


class FaultRecord(LogRecord):
    """A fault began or ended on a device."""

    node: str
    """Device that the fault struck."""
    fault: str
    """Kind of the fault, as `crash`."""
    begins: bool
    """Whether the fault begins. Otherwise the record ends the fault that began last with the same
    `node` and `fault`, by the verb that the record undoes. The fault holds the node from the one
    record to the other: a begin is recorded once it is done, an end before it is done."""
    planned: Time
    """When it was due: the time in the timeline, or `at` if the device drew the fault itself."""
    setting: Mapping[str, Any] | None = None
    """How strongly, at the begin of a fault whose verb has a setting, as `{"factor": 0.25}`."""
    again: bool = False
    """Whether the fault began before `emulate resume` went on with the run, and goes on: the record
    says when it holds the node again, which has booted. It is no fault of its own."""


class OverlapRecord(LogRecord, tag="overlap"):
    """A fault was due, or a device drew a fault (`per_iteration`), while another fault of the same
    verb, or an empty battery, held the device.

    The two are one fault, with one record of its begin, and one of its end once both are over. A
    fault that is drawn after a drawn fault for good has no record.
    """

    node: str
    """Device that the fault struck."""
    fault: str
    """Kind of the fault, as `partition`. The records of the begin and of the end have the kind of
    the fault that began first."""
    verb: str
    """Verb that begins both faults, as `sever`."""
    lasts: Time | None
    """Duration of a drawn fault, from `at` on; null for good, and for a fault of the timeline."""
    planned: Time | None = None
    """When the fault was due: the time in the timeline. Absent for a fault that the device drew."""


class BatteryRecord(LogRecord, tag="battery"):
    """The charge of a device's battery: at the run's begin, when the device is off or on again,
    and when the charge has changed by 5 % of the capacity."""

    node: str
    """Name of the device."""
    charge: Share
    """Energy in the battery, as a share of its capacity."""


class LinkChangeRecord(LogRecord, tag="link_change"):
    """A container has changed its device's link, as steps and traces of the link ask, later than
    ever before in the run. Changes that are made sooner have no record."""

    node: str
    """Name of the device."""
    changes: int
    """Number of the link's changes so far."""
    late: Time
    """Time from the change's due moment until it was in force."""


def verb_records() -> Iterator[type[FaultRecord]]:
    """Yield a Struct for the doing and one for the undoing of each verb in the table."""
    for verb in VERBS:
        texts = {verb.record: verb.done, verb.undone_record: verb.undone}
        for what, text in texts.items():
            name, bases = f"{what.capitalize()}Record", (FaultRecord,)
            record_type = msgspec.defstruct(
                name, [], bases=bases, tag=what, gc=False, namespace={"__doc__": text}
            )
            yield cast(type[FaultRecord], record_type)
