"""A fault says which verb begins it and which ends it; when it strikes is not its business."""

from typing import Protocol

from ..world.verbs import Action


class Fault(Protocol):
    """A frozen dataclass: its fields, `kind` first, are what a scenario writes."""

    @property
    def kind(self) -> str: ...

    def begin(self, node: str) -> Action:
        """What is done to the node when the fault strikes it."""

    def end(self, node: str) -> Action:
        """What undoes it; not asked for when the fault is for good."""
