"""The table of verbs: the things a runtime can do to a node of a running world.

Faults speak in these verbs only, so a new fault needs no new code in a runtime. A new verb is a row
of `VERBS` and its methods in `NodePowers` or `EnginePowers` (`world/powers.py`), one to do it and
one to undo it, in each runtime. A verb that a worker plays by itself has its effect in
`world/faults/self_played.py`, for all runtimes. The table stands beside the faults, not among them:
each command reads it, and the package of the faults loads every kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Setting: TypeAlias = Mapping[str, Any]
"""Numbers and words, as plain JSON, that say how strongly a verb is done, as `{"factor": 0.25}`."""


@dataclass(frozen=True)
class Verb:
    """A row of the table: a verb to begin a fault, a verb to end the fault, and their effects.

    `run.jsonl` has a record of kind `record` when the verb is done, and of kind `undone_record`
    when it is undone; by default these are the names of the two verbs.
    """

    name: str
    undone_by: str
    done: str
    """Meaning of the verb's record, as a sentence."""
    undone: str
    """Meaning of the record of `undone_by`."""
    record: str = ""
    undone_record: str = ""
    ends_process: bool = False
    """Whether the node's memory is lost; undoing the verb boots the node anew."""
    severs: bool = False
    """Whether the runtime must be able to cut the node's link."""
    silences: bool = True
    """Whether the server hears nothing from the node until the verb is undone."""
    tunable: bool = False
    """Whether an action with the verb carries a setting, which the power's method takes."""
    revives: bool = False
    """Whether the node's process may end under the verb; undoing the verb then boots the node."""
    by: Literal["node", "engine", "worker"] = "node"
    """Who does the verb to a container: its own supervisor, the conductor through the engine, or
    the worker's process itself, which is told the setting."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "record", self.record or self.name)
        object.__setattr__(self, "undone_record", self.undone_record or self.undone_by)


VERBS = (
    Verb(
        "kill",
        undone_by="start",
        done="A device lost power.",
        undone="A device that was killed was started again: the verb `start` of the timeline.",
        undone_record="boot",
        ends_process=True,
    ),
    Verb(
        "halt",
        undone_by="reboot",
        done="A device lost power, and kept its state as on a disk.",
        undone="A device that was halted was started again, from its kept state.",
        ends_process=True,
    ),
    Verb(
        "leave",
        undone_by="join",
        done="A device was asked to leave: it says goodbye to the server, and ends.",
        undone="A device that had left was started again.",
        ends_process=True,
    ),
    Verb(
        "sever",
        undone_by="mend",
        done="A device was cut off from the network.",
        undone="A device that was severed was connected again.",
        severs=True,
    ),
    Verb(
        "reshape",
        undone_by="restore",
        done="The link of a device changed; `setting` says how.",
        undone="A device has its own link again.",
        silences=False,
        tunable=True,
    ),
    Verb(
        "garble",
        undone_by="clear",
        done="Bits of messages of a device began to be flipped; `setting` has the share of these.",
        undone="The messages of a device arrive as they were sent again.",
        silences=False,
        tunable=True,
        by="worker",
    ),
    Verb(
        "pause",
        undone_by="resume",
        done="A device was frozen: its kernel answers, its processes do nothing.",
        undone="A device that was paused went on.",
    ),
    Verb(
        "lag",
        undone_by="catch_up",
        done="A device began to wait before each gradient; `setting` has the law of the wait.",
        undone="A device that lagged computes its gradients without a wait again.",
        silences=False,
        tunable=True,
        by="worker",
    ),
    Verb(
        "heat",
        undone_by="cool",
        done="A device began to heat up as it computes; `setting` says how fast and how slow.",
        undone="A device that overheated computes as fast as before.",
        silences=False,
        tunable=True,
        by="worker",
    ),
    Verb(
        "falsify",
        undone_by="reform",
        done="A device began to lie: it sends a falsehood in place of each gradient.",
        undone="A device that lied sends its gradients again.",
        silences=False,
        tunable=True,
        by="worker",
    ),
    Verb(
        "throttle",
        undone_by="unthrottle",
        done="A device's CPU quota was multiplied by the `factor` in `setting`.",
        undone="A device that was throttled has its own CPU quota again, or none as before.",
        silences=False,
        tunable=True,
        by="engine",
    ),
    Verb(
        "press",
        undone_by="release",
        done="Another process on a device holds the `share` in `setting` of the memory limit. A "
        "worker that the kernel kills then has an `exit`.",
        undone="The memory was released; a worker that was killed for want of memory boots again.",
        silences=False,
        tunable=True,
        revives=True,
    ),
)
"""The table. A schedule orders actions on one node at one time as their verbs stand here."""

_ROWS = {name: verb for verb in VERBS for name in (verb.name, verb.undone_by)}
_ROWS_BY_RECORD = {what: verb for verb in VERBS for what in (verb.record, verb.undone_record)}
ORDER = {name: place for place, verb in enumerate(VERBS) for name in (verb.name, verb.undone_by)}
"""Position in the table of the row of every verb."""


def row(name: str) -> Verb:
    """Return the row that has the verb `name`. Raises ValueError for an unknown verb."""
    try:
        return _ROWS[name]
    except KeyError:
        raise ValueError(f"verb {name!r} is not {' or '.join(_ROWS)}") from None


def row_of_record(what: str) -> Verb | None:
    """Return the row whose verbs have records of kind `what`; None for any other kind."""
    return _ROWS_BY_RECORD.get(what)


def begins(name: str) -> bool:
    """Return whether the verb `name` begins a fault; otherwise the verb ends a fault."""
    return row(name).name == name


def record(name: str) -> str:
    """Return the kind of the record that `run.jsonl` has of the verb `name`."""
    verb = row(name)
    return verb.record if verb.name == name else verb.undone_record


@dataclass(frozen=True)
class Action:
    """A verb for a node."""

    verb: str
    """Name of the verb; `Verb.name` or `Verb.undone_by` of some row."""
    node: str
    fault: str
    """Kind of the fault that asks for the verb."""
    setting: Setting | None = field(default=None, hash=False)
    """Setting of the verb; None for a verb without one, and for the end of a fault."""

    def __post_init__(self) -> None:
        row(self.verb)

    @property
    def begins(self) -> bool:
        """Whether the fault begins with this action; otherwise the fault ends."""
        return begins(self.verb)
