"""The table of verbs: the things a runtime can do to a node of a running world.

Faults speak in these verbs only, so a new fault needs no new code in a runtime. A new verb is a row
of `VERBS` and its methods in `NodePowers` or `EnginePowers`, one to do it and one to undo it, in
each runtime.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

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
    by: Literal["node", "engine"] = "node"
    """Who does the verb to a container: its own supervisor, or the conductor through the engine."""

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
    ),
    Verb(
        "falsify",
        undone_by="reform",
        done="A device began to lie: it sends a falsehood in place of each gradient.",
        undone="A device that lied sends its gradients again.",
        silences=False,
        tunable=True,
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
        done="Another process on a device took the `share` in `setting` of the memory limit. A "
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
_IN_TURN = [
    name
    for verb in VERBS
    for name in ((verb.undone_by, verb.name) if verb.tunable else (verb.name, verb.undone_by))
]
ORDER = {name: place for place, name in enumerate(_IN_TURN)}
"""Position of every verb in the table, with `undone_by` behind its row's verb; before it if the
verb has a setting, as a fault may take over from one with another setting."""


class NodePowers(Protocol):
    """Power over one node: a method for every verb of the table with `by="node"`.

    The two methods of a row are called in turns, `kill` before `start`. Rows may overlap: a node
    may be killed while a fault severs it.
    """

    def kill(self) -> None:
        """Send SIGKILL: the node loses its memory and its connections."""

    def start(self) -> None:
        """Boot the node from nothing; a severed or paused node stays severed or paused."""

    def halt(self) -> None:
        """Do as `kill`, but keep the state after the node's last push."""

    def reboot(self) -> None:
        """Boot the node from its kept state, unless it was lost or another fault keeps it off."""

    def leave(self) -> None:
        """Let the node say goodbye to the server and end; it loses its memory."""

    def join(self) -> None:
        """Boot the node from nothing, unless a fault keeps it killed."""

    def sever(self) -> None:
        """Drop all packets to and from the node; processes and connections live on."""

    def mend(self) -> None:
        """Let packets through again, on the node's link as it is then."""

    def reshape(self, setting: Setting) -> None:
        """Give the node the link that `reshaping.reshaped` makes of its own with `setting`."""

    def restore(self) -> None:
        """Give the node its own link again."""

    def garble(self, setting: Setting) -> None:
        """Flip bits in the share `setting["share"]` of the node's messages, in both directions."""

    def clear(self) -> None:
        """Flip no more bits."""

    def pause(self) -> None:
        """Freeze the node's processes; the kernel still receives, and sends data handed to it."""

    def resume(self) -> None:
        """Let the node's processes go on."""

    def lag(self, setting: Setting) -> None:
        """Wait before each gradient, for a time from the law `setting["delay"]`."""

    def catch_up(self) -> None:
        """Wait no more from the next gradient on; a wait under way comes to its end."""

    def falsify(self, setting: Setting) -> None:
        """Encode and send a lie in place of each gradient, as `setting` says."""

    def reform(self) -> None:
        """Send gradients as they are again."""

    def press(self, setting: Setting) -> None:
        """Take `setting["share"]` of the node's memory; the worker may be killed for want of it."""

    def release(self) -> None:
        """Release the memory; boot the node if its worker was killed for want of memory."""


class EnginePowers(Protocol):
    """Power over one node: a method for every verb of the table with `by="engine"`."""

    def throttle(self, setting: Setting) -> None:
        """Multiply the node's CPU quota by `setting["factor"]`; without a quota it has one core."""

    def unthrottle(self) -> None:
        """Give the node its own CPU quota back, or none if it had none."""


def row(name: str) -> Verb:
    """Return the row that has the verb `name`. Raises ValueError for an unknown verb."""
    try:
        return _ROWS[name]
    except KeyError:
        raise ValueError(f"verb {name!r} is not {' or '.join(_ROWS)}") from None


def row_of_record(what: str) -> Verb | None:
    """Return the row with records of kind `what`, or None."""
    return _ROWS_BY_RECORD.get(what)


def begins(name: str) -> bool:
    """Return whether the verb `name` begins a fault; otherwise the verb ends a fault."""
    return row(name).name == name


def record(name: str) -> str:
    """Return the kind of the record that `run.jsonl` has of the verb `name`."""
    verb = row(name)
    return verb.record if verb.name == name else verb.undone_record


def perform(powers: NodePowers | EnginePowers, name: str, setting: Setting | None = None) -> None:
    """Call the method `name` of `powers`, with the `setting` if the verb has one.

    Raises ValueError if `name` is no verb.
    """
    verb = row(name)  # no other method may be called by an order from outside
    if verb.tunable and verb.name == name:
        getattr(powers, name)(setting or {})
    else:
        getattr(powers, name)()


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


class FaultCounts:
    """Number of faults that hold a node, by verb.

    Faults of the same verb that overlap are one fault, from the first begin to the last end.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._kinds: dict[str, str] = {}

    def changes(self, name: str, fault: str = "") -> bool:
        """Count the verb `name` for a fault of kind `fault`.

        Return whether the node changes: then the verb must be done.
        """
        verb, begun = row(name).name, begins(name)
        before = self._counts[verb]
        self._counts[verb] = before + 1 if begun else max(0, before - 1)
        if begun and not before:
            self._kinds[verb] = fault
        return before == (0 if begun else 1)

    def kind(self, name: str) -> str:
        """Return the kind of the fault that began when the verb of `name` was done last.

        Of overlapping faults of several kinds, begin and end bear the name of the first.
        """
        return self._kinds.get(row(name).name, "")

    @property
    def ended(self) -> bool:
        """Whether a fault keeps the node's process from running."""
        return any(self.holds(verb.name) for verb in VERBS if verb.ends_process)

    def holds(self, verb: str) -> bool:
        """Return whether a fault of `verb` holds the node."""
        return self._counts[verb] > 0

    @property
    def silenced(self) -> bool:
        """Whether a fault keeps the server from hearing the node."""
        return any(self.holds(verb.name) for verb in VERBS if verb.silences)
