"""Chores: work of the server's driver beside the protocol, for example checkpoints."""

from typing import Protocol


class Chore(Protocol):
    """Work that a driver does when it is due, on the driver's clock."""

    def deadline(self) -> float | None:
        """Return the time of the next `tick`; None: no time of its own."""

    def tick(self, now: float) -> None:
        """Do the work that is due by `now`. May be called at any time."""
