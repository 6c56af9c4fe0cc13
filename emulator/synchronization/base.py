"""Protocols of synchronization, which decides the gradients of a step and the workers that wait."""

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from ..plugins.stateful import Stateful
from ..units import Checked, Seconds

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

        Raises WireError to refuse the gradient, as one that came too late. It counts for no
        quarantine.
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


class LeftOutCount(NamedTuple):
    """Steps of the synchronizer that were made without `node`, since the begin of the run."""

    node: str
    steps: int
    of: int
    """Steps that were made with and without the node."""


class LeftOut(Stateful):
    """Counts steps without the devices that were given up after the patience.

    A step costs O(1), however many devices are given up: the count of a device is a difference of
    two step numbers.
    """

    STATE = ("_steps", "_since", "_before", "_given_up")

    def __init__(self) -> None:
        self._steps = 0
        self._since: dict[str, int] = {}  # by device given up: the steps before it was
        self._before: dict[str, int] = {}  # steps without a device before it was given up last
        self._given_up: list[str] = []  # since the last `take_left_out`

    def give_up(self, nodes: Iterable[str]) -> None:
        """Count the steps without `nodes` from here on."""
        for node in sorted(nodes):
            if node not in self._since:
                self._since[node] = self._steps
                self._given_up.append(node)

    def back(self, node: str) -> None:
        """Count the steps without `node` no more; do nothing if it was not given up."""
        since = self._since.pop(node, None)
        if since is not None:
            self._before[node] = self._before.get(node, 0) + self._steps - since

    def step(self) -> None:
        """Count a step."""
        self._steps += 1

    def take_left_out(self) -> list[LeftOutCount]:
        """Return the counts that are to be recorded now; call after each step.

        A device given up since the last call is due if its count is a power of two. All devices
        given up are due if the number of steps is: so a device has O(log steps) records.
        """
        nodes, self._given_up = self._given_up, []
        everyone = _power_of_two(self._steps)
        counts = map(self._count, dict.fromkeys([*nodes, *self._since]) if everyone else nodes)
        return [
            count for count in counts if count.steps and (everyone or _power_of_two(count.steps))
        ]

    def left_out(self) -> list[LeftOutCount]:
        """Return the count of every device that a step was made without."""
        counts = map(self._count, dict.fromkeys([*self._before, *self._since]))
        return [count for count in counts if count.steps]

    def _count(self, node: str) -> LeftOutCount:
        now = self._steps - self._since.get(node, self._steps)
        return LeftOutCount(node, self._before.get(node, 0) + now, self._steps)


def _power_of_two(number: int) -> bool:
    return not number & (number - 1)


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
