"""The protocol of a fault: the verbs that begin and end a fault. Schedules give the times."""

from typing import Protocol

from ..verbs import Action


class Fault(Protocol):
    """A frozen dataclass, whose fields are the keys of the scenario, `kind` first."""

    @property
    def kind(self) -> str: ...

    def begin(self, node: str) -> Action:
        """Return the action with which the fault begins on `node`."""

    def end(self, node: str) -> Action:
        """Return the action that undoes `begin`; not called if the fault is for good."""
