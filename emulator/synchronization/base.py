"""Synchronization decides which gradients make the next step, and who waits for it."""

from typing import Any, Protocol, TypeVar

A = TypeVar("A")


class Synchronizer(Protocol[A]):
    """What one server holds; `A` is whatever it keeps of a push.

    A list that it returns is the next step: θ moves by the mean of these gradients. Time is
    passed in: `tick` is to be called at `deadline()`, and may be called at any time.
    """

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        """Take one node's gradient; the arrivals that make a step, or None to go on waiting."""

    def holds(self, node: str) -> bool:
        """Whether the node gets no model before the next step."""

    def deadline(self) -> float | None:
        """When to stop waiting for the nodes that are absent."""

    def tick(self, now: float) -> list[A] | None:
        """As `arrive`, because of the time."""


class Synchronization(Protocol):
    """Frozen configuration; `start` makes the state."""

    def start(self, members: frozenset[str]) -> Synchronizer[Any]:
        """For a server with these workers."""
