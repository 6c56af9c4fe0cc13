"""Power over a node: the methods through which a runtime does the verbs of the table.

Faults of a node may overlap. `FaultCounts` counts them by verb, and says when a verb must be done.
"""

from collections import Counter
from typing import Any, Protocol

from .verbs import VERBS, Setting, begins, row


class NodePowers(Protocol):
    """Power over one node: a method for every verb of the table with `by="node"`, and `change`.

    The two methods of a row are called in turns, `kill` before `start`. Rows may overlap: a node
    may be killed while a fault severs it.
    """

    def kill(self) -> None:
        """Send SIGKILL: the node loses memory and connections."""

    def start(self) -> None:
        """Boot the node from nothing; a severed or paused node stays severed or paused."""

    def halt(self) -> None:
        """Do as `kill`, but keep the state after the node's last push."""

    def reboot(self) -> None:
        """Boot the node from the kept state, unless the state was lost or another fault keeps the
        node off."""

    def leave(self) -> None:
        """Let the node say goodbye to the server and end; the node loses its memory."""

    def join(self) -> None:
        """Boot the node from nothing, unless a fault keeps it killed."""

    def sever(self) -> None:
        """Drop all packets to and from the node; processes and connections live on."""

    def mend(self) -> None:
        """Let packets through again, on the node's link as it is then."""

    def reshape(self, setting: Setting) -> None:
        """Give the node the link that `reshaping.reshaped` makes of the node's own link with
        `setting`."""

    def restore(self) -> None:
        """Give the node's own link back."""

    def change(self, verb: str, setting: Setting | None) -> None:
        """Put the `setting` of a `verb` with `by="worker"` into force; None ends it."""

    def pause(self) -> None:
        """Freeze the node's processes; the kernel still receives, and sends data handed to it."""

    def resume(self) -> None:
        """Let the node's processes go on."""

    def press(self, setting: Setting) -> None:
        """Take `setting["share"]` of the node's memory; the worker may be killed for want of it."""

    def release(self) -> None:
        """Release the memory; boot the node if its worker was killed for want of memory."""


class EnginePowers(Protocol):
    """Power over one node: a method for every verb of the table with `by="engine"`."""

    def throttle(self, setting: Setting) -> None:
        """Multiply the node's CPU quota by `setting["factor"]`; a node without a quota has one
        core."""

    def unthrottle(self) -> None:
        """Give the node's own CPU quota back, or lift the quota of a node without one."""


def perform(powers: NodePowers | EnginePowers, name: str, setting: Setting | None = None) -> None:
    """Call the method `name` of `powers`, with the `setting` if the verb has one.

    A verb that a worker plays by itself changes the worker's settings. Raises ValueError if `name`
    is no verb.
    """
    verb = row(name)  # no other method may be called by an order from outside
    begins, given = verb.name == name, tuple[Any, ...]()
    if verb.by == "worker":
        name, given = "change", (verb.name, (setting or {}) if begins else None)
    elif verb.tunable and begins:
        given = (setting or {},)
    getattr(powers, name)(*given)


class FaultCounts:
    """Counts, by verb, the overlapping faults that hold a node.

    Faults of the same verb that overlap are one fault, from the first begin to the last end.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._kinds: dict[str, str] = {}
        self._endless: set[str] = set()  # verbs of drawn faults for good

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

    def prolongs(self, verb: str, lasts: float | None) -> bool:
        """Note that the node drew a fault of `verb` that lasts `lasts` seconds, None for good.

        Return whether the fault may prolong others of `verb`: False after a drawn fault for good.
        """
        prolongs = verb not in self._endless
        if lasts is None:
            self._endless.add(verb)
        return prolongs

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
