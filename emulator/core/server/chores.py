"""Chores: work of the server's driver beside the protocol, for example checkpoints."""

from typing import Protocol


class Chore(Protocol):
    """Work with due times on the driver's clock."""

    def deadline(self) -> float | None:
        """Return the time at which `tick` is due; None: at no time of the chore's own."""

    def tick(self, now: float) -> None:
        """Do the work that is due by `now`. May be called at any time."""
