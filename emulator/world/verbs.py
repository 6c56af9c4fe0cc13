"""The table of verbs: everything that a runtime can do to one node of a running world.

Faults speak in these verbs only, so a new fault needs no new code in a runtime. A new verb is a row
of `VERBS` and its methods in `Powers`, one to do it and one to undo it, in each runtime.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Verb:
    """One row: a verb, the verb that undoes it, and their effects as readers need them.

    The verb begins a fault, and `undone_by` ends it. `record` and `undone_record` are the kinds of
    record that `run.jsonl` has of the two; without them, the records are called as the verbs.
    """

    name: str
    undone_by: str
    done: str
    """The meaning of the record of the verb, as a sentence."""
    undone: str
    """The meaning of the record of `undone_by`."""
    record: str = ""
    undone_record: str = ""
    ends_process: bool = False
    """Whether the node's memory is lost; undoing the verb boots the node anew."""
    severs: bool = False
    """Whether the runtime must be able to cut the node's link."""
    silences: bool = True
    """Whether the server hears nothing from the node until the verb is undone."""

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
        "sever",
        undone_by="mend",
        done="A device was cut off from the network.",
        undone="A device that was severed was connected again.",
        severs=True,
    ),
    Verb(
        "pause",
        undone_by="resume",
        done="A device was frozen: its kernel answers, its processes do nothing.",
        undone="A device that was paused went on.",
    ),
)
"""All verbs. Of one moment and one node, a schedule has its actions in this order."""

_ROWS = {name: verb for verb in VERBS for name in (verb.name, verb.undone_by)}
_ROWS_BY_RECORD = {what: verb for verb in VERBS for what in (verb.record, verb.undone_record)}
ORDER = {name: place for place, name in enumerate(_ROWS)}
"""Place of each name, of beginnings and of ends, in the table."""
RECORDS = tuple(_ROWS_BY_RECORD)
"""The kinds of record that runs have of verbs."""


class Powers(Protocol):
    """One node as a runtime holds it, and a method for each name in `VERBS`.

    The methods of a pair are called in turns, `kill` before `start`. Pairs may interleave: a node
    may be killed while it is severed.
    """

    def kill(self) -> None:
        """Send SIGKILL: nothing in the node's memory survives, and its connections go with it."""

    def start(self) -> None:
        """Boot the node from nothing, still under all other verbs that hold it."""

    def sever(self) -> None:
        """Let nothing through to the node or from it; processes and connections live on."""

    def mend(self) -> None:
        """Let everything through again, on the node's own link."""

    def pause(self) -> None:
        """Freeze the node's processes; its kernel still receives, and sends what it was given."""

    def resume(self) -> None:
        """Let the node's processes go on where they stood."""


def row(name: str) -> Verb:
    """Return the row of the verb that `name` does or undoes. Raises ValueError if none does."""
    try:
        return _ROWS[name]
    except KeyError:
        raise ValueError(f"verb {name!r} is not {' or '.join(_ROWS)}") from None


def row_of_record(what: str) -> Verb | None:
    """Return the row whose doing or undoing writes records of the kind `what`; None if none."""
    return _ROWS_BY_RECORD.get(what)


def begins(name: str) -> bool:
    """Return whether `name` begins a fault; otherwise it ends one."""
    return row(name).name == name


def record(name: str) -> str:
    """Return the kind of record that `run.jsonl` has of `name`."""
    verb = row(name)
    return verb.record if verb.name == name else verb.undone_record


def perform(powers: Powers, name: str) -> None:
    """Call the method `name` of `powers`."""
    row(name)  # nothing but a verb may be called by its name
    getattr(powers, name)()


@dataclass(frozen=True)
class Action:
    """One verb, done or undone to one node."""

    verb: str
    """A name in `VERBS`, of a beginning or of an end."""
    node: str
    fault: str
    """The kind of fault that asks for it."""

    def __post_init__(self) -> None:
        row(self.verb)

    @property
    def begins(self) -> bool:
        """Whether the fault begins with this action; otherwise it ends."""
        return begins(self.verb)


class FaultCounts:
    """Counts the faults that hold one node at this moment, for each verb.

    Faults of one verb that overlap are one: it begins with the first and ends with the last.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def changes(self, name: str) -> bool:
        """Count `name` in. Return whether it changes anything, so that it must be done."""
        verb, begun = row(name).name, begins(name)
        before = self._counts[verb]
        self._counts[verb] = before + 1 if begun else max(0, before - 1)
        return before == (0 if begun else 1)

    def holds(self, verb: str) -> bool:
        """Return whether a fault that `verb` began holds the node."""
        return self._counts[verb] > 0

    @property
    def silenced(self) -> bool:
        """Whether a fault holds the node under which the server hears nothing from it."""
        return any(self.holds(verb.name) for verb in VERBS if verb.silences)
