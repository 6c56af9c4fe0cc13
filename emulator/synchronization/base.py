"""Protocols of synchronization, which decides the gradients of a step and the workers that wait."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from ..units import Checked, Seconds
from .missed_steps import LeftOutCount

A = TypeVar("A")
"""Record of one push, kept by the caller; a synchronizer only passes it on."""


class Synchronizer(Protocol[A]):
    """State of one server for its workers; `A` is the caller's record of a push.

    A returned list is the next step: θ moves by the mean of these gradients; the list may be empty,
    then there is no step. Times are seconds of the run and are passed in: `tick` is to be called at
    `deadline()`, and may be called at any time.
    """

    @property
    def releases(self) -> int:
        """Counter that rises whenever held nodes may have been released."""

    @property
    def weights(self) -> Mapping[str, float] | None:
        """Weight of each node's gradient in the mean; None means equal weights."""

    def begin(self, now: float) -> None:
        """Start counting time at `now`, the beginning of the run."""

    def sent(self, node: str) -> None:
        """Record that `node` was sent the newest model."""

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        """Take a gradient of `node`; return the arrivals that make a step, or None to wait for
        more.

        Raises WireError to refuse the gradient.
        """

    def failed(self, node: str, now: float) -> list[A] | None:
        """Record that `node` sends nothing, as its gradient is not finite; return as `arrive`
        does."""

    def departed(self, node: str, now: float) -> list[A] | None:
        """Wait for `node` no more, as it has said goodbye; return as `arrive` does.

        A gradient of `node` that has arrived stays.
        """

    def returned(self, node: str, now: float) -> None:
        """Wait for `node` again, which has said hello after a goodbye."""

    def holds(self, node: str) -> bool:
        """Return whether `node` gets no model before `releases` rises."""

    def deadline(self) -> float | None:
        """Return the time at which to call `tick`; None if nothing is waited for."""

    def tick(self, now: float) -> list[A] | None:
        """Give up nodes that have been absent for too long; return as `arrive` does."""


@runtime_checkable
class Meeting(Protocol[A]):
    """A synchronizer with workers that wait for each other; the caller may change the set.

    Where workers meet at another point of an iteration too, the two would wait for each other's
    absent workers.
    """

    def expect(self, nodes: Collection[str]) -> None:
        """Wait for `nodes`, members of a step; do not wait for other members of this step until
        their next gradients."""

    def leave(self, node: str) -> list[A] | None:
        """Wait for `node` no more in this step; return as `arrive` does."""


@runtime_checkable
class Patient(Protocol):
    """A synchronizer that gives devices up after a patience, and counts the steps without them.

    A device that has said goodbye was not given up.
    """

    def give_up(self, nodes: Collection[str]) -> None:
        """Count steps without `nodes` until their next gradients, as the caller's own patience has
        ended."""

    def take_left_out(self) -> list[LeftOutCount]:
        """Return the counts that are due, as `LeftOut.take_left_out`; call after each step."""

    def left_out(self) -> list[LeftOutCount]:
        """Return the count of every device that a step was made without."""


@runtime_checkable
class PartialRelease(Protocol):
    """A synchronizer that releases some of the held nodes at a time, and knows their names."""

    def take_released(self) -> Collection[str]:
        """Return the nodes that may have been released since the last call."""


class Synchronization(Protocol):
    """Frozen configuration; `start` makes the state."""

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> Synchronizer[Any]:
        """Return the state of a server with the workers `members`.

        All draws come from `seed`. `examples` gives the number of training examples of each worker,
        if known.
        """


LEAST_PATIENCE = 1e-3
"""Shortest patience in seconds; with less, rounds without any update would follow by the
million."""


def check_patience(patience: float) -> None:
    """Raise ValueError unless `patience` is a finite time of at least `LEAST_PATIENCE` seconds."""
    if not 0 < patience < float("inf"):
        raise ValueError(f"patience is {patience}: write a time above 0s")
    if patience < LEAST_PATIENCE:
        raise ValueError(
            f"patience is {1e6 * patience:g}us: write 1ms or more, no update comes as fast as that"
        )


Patience: TypeAlias = Annotated[Seconds, Checked(check_patience)]
"""Time that a server waits for updates that are missing."""
