"""Overlapping faults of a node, counted by verb."""

from collections import Counter

from .verbs import VERBS, begins, row


class FaultCounts:
    """Counts, by verb, the faults that hold a node.

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
