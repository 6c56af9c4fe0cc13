"""Synchronization decides which gradients make the next step, and who waits for it."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

A = TypeVar("A")


class Synchronizer(Protocol[A]):
    """What one server holds; `A` is whatever it keeps of a push.

    A list that it returns is the next step: θ moves by the mean of these gradients. Time is
    passed in: `tick` is to be called at `deadline()`, and may be called at any time.
    """

    @property
    def releases(self) -> int:
        """Rises whenever somebody who was held may be so no longer."""

    @property
    def weights(self) -> Mapping[str, float] | None:
        """What each node's gradient counts for in the mean; None: all count alike."""

    def begin(self, now: float) -> None:
        """The run has begun: time counts from here."""

    def sent(self, node: str) -> None:
        """The node has been sent the newest model."""

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        """Take one node's gradient; the arrivals that make a step, or None to go on waiting.

        A WireError refuses it.
        """

    def failed(self, node: str, now: float) -> list[A] | None:
        """The node has nothing to send, its gradient is not finite; as `arrive`."""

    def holds(self, node: str) -> bool:
        """Whether the node gets no model before the next turn."""

    def deadline(self) -> float | None:
        """When to stop waiting for the nodes that are absent."""

    def tick(self, now: float) -> list[A] | None:
        """As `arrive`, because of the time."""


class Synchronization(Protocol):
    """Frozen configuration; `start` makes the state."""

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> Synchronizer[Any]:
        """For a server with these workers.

        All draws come from the seed. `examples`: how many each of them learns from, if known.
        """


def check_patience(patience: float) -> None:
    """A ValueError unless it is a time that passes."""
    if not 0 < patience < float("inf"):
        raise ValueError(f"patience is {patience}: write a time above 0s")
