"""Synchronization `groups`: synchronous within a group of devices, asynchronous between the groups.

Hadjis et al. (2016): N devices form g compute groups. The devices of a group wait for each other,
and the mean of their gradients is a step; no group waits for another. One group is a barrier over
all devices, N groups are asynchronous. A group shares `training.batch_size`, so that a step
averages over as many examples for every g.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal

from ..plugins.stateful import Stateful
from ..units import AtLeast, Seconds
from .barrier import Barrier, Lockstep
from .base import A, LeftOutCount, Patience, Synchronizer, check_patience
from .softsync import Collecting

_GROUPS = AtLeast(1)


@dataclass(frozen=True)
class ComputeGroups:
    """Compute groups: the devices of a group make each step together, and the groups do not wait.

    Hadjis et al. (2016). `training.batch_size` is the mini-batch of a whole group. A member without
    a gradient `patience` after the first gradient of a step is given up, as at a barrier.
    """

    groups: Annotated[int, _GROUPS]
    """Number of groups, from 1 (a barrier) to the number of devices (asynchronous): the paper's g.
    If it does not divide the number of devices, the first groups have a device more."""
    assign: Literal["order", "speed"] = "order"
    """Rule by which consecutive devices form a group: in the order of the file, or sorted by the
    expected time of an iteration, so that a device's neighbours are about as fast."""
    patience: Patience = Seconds(60)
    """Time after the first gradient of a group's step until missing members are given up."""
    kind: Literal["groups"] = "groups"

    def __post_init__(self) -> None:
        _GROUPS.check(self.groups, "groups")
        check_patience(self.patience)

    def start(
        self,
        members: frozenset[str],
        seed: int = 0,
        examples: Mapping[str, int] | None = None,
        groups: Sequence[Sequence[str]] = (),
        batches: Mapping[str, int] | None = None,
    ) -> Synchronizer[Any]:
        """Return the state of a server with the workers `members`, who form `groups`.

        Without `groups`, the members form groups in the order of their names. `batches` gives the
        examples in the mini-batch of each worker; without `batches` all gradients weigh alike.
        """
        named = [tuple(group) for group in groups] or blocks(sorted(members), self.groups)
        if len(named) == len(members):
            return Collecting(len(members), len(members))
        barrier = Barrier(patience=self.patience)
        return GroupSteps(named, barrier, _weights(named, batches or {}))


class GroupSteps(Stateful, Generic[A]):
    """State of `groups`: a `Lockstep` for every group, and the groups with a gradient."""

    STATE = ("releases", "_released")

    def __init__(
        self,
        groups: Sequence[Sequence[str]],
        barrier: Barrier,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.weights = weights
        self.releases = 0
        self._lockstep: dict[str, Lockstep[A]] = {}  # by member
        self._members: dict[Lockstep[A], Sequence[str]] = {}
        self._released: list[str] = []
        self._due: list[LeftOutCount] = []
        for group in groups:
            lockstep: Lockstep[A] = Lockstep(barrier, frozenset(group))
            self._members[lockstep] = group
            self._lockstep |= dict.fromkeys(group, lockstep)
        # Groups with a gradient, in the order of their first. All groups have the same patience, so
        # the first of the dict has the earliest deadline: O(1) for any number of groups.
        self._waiting: dict[Lockstep[A], None] = {}

    def state(self) -> dict[str, Any]:
        """Return the state of each group, and the numbers of the groups with a gradient."""
        groups = list(self._members)
        return {
            **super().state(),
            "groups": [lockstep.state() for lockstep in groups],
            "waiting": [groups.index(lockstep) for lockstep in self._waiting],
            "due": [tuple(count) for count in self._due],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`, of the same groups."""
        super().restore(state)
        groups = list(self._members)
        for lockstep, own in zip(groups, state["groups"], strict=True):
            lockstep.restore(own)
        self._waiting = dict.fromkeys(groups[number] for number in state["waiting"])
        self._due = [LeftOutCount(*count) for count in state["due"]]

    def begin(self, now: float) -> None:
        pass

    def sent(self, node: str) -> None:
        pass

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        lockstep = self._lockstep[node]
        self._waiting.setdefault(lockstep)
        return self._stepped(lockstep, lockstep.arrive(node, arrival, now))

    def failed(self, node: str, now: float) -> list[A] | None:
        return None

    def departed(self, node: str, now: float) -> list[A] | None:
        lockstep = self._lockstep[node]
        return self._stepped(lockstep, lockstep.departed(node, now))

    def returned(self, node: str, now: float) -> None:
        self._lockstep[node].returned(node, now)

    def holds(self, node: str) -> bool:
        return self._lockstep[node].holds(node)

    def take_released(self) -> list[str]:
        """Return the members of the groups that have made a step since the last call."""
        released, self._released = self._released, []
        return released

    def deadline(self) -> float | None:
        lockstep = next(iter(self._waiting), None)
        return lockstep.deadline() if lockstep else None

    def tick(self, now: float) -> list[A] | None:
        """Give up absent members of the group that has waited longest, as `Lockstep.tick` does.

        Other groups may be due at the same time: `deadline` still tells, and calls follow.
        """
        lockstep = next(iter(self._waiting), None)
        return self._stepped(lockstep, lockstep.tick(now)) if lockstep else None

    def expect(self, nodes: Collection[str]) -> None:
        """Wait for `nodes` of a group, and for other members after their next gradients only."""
        self._lockstep[next(iter(nodes))].expect(nodes)

    def leave(self, node: str) -> list[A] | None:
        """Wait for `node` no more in this step of its group, as `Lockstep.leave`."""
        lockstep = self._lockstep[node]
        return self._stepped(lockstep, lockstep.leave(node))

    def give_up(self, nodes: Collection[str]) -> None:
        for node in nodes:
            self._lockstep[node].give_up([node])

    def take_left_out(self) -> list[LeftOutCount]:
        due, self._due = self._due, []
        return due

    def left_out(self) -> list[LeftOutCount]:
        return [count for lockstep in self._members for count in lockstep.left_out()]

    def _stepped(self, lockstep: Lockstep[A], arrivals: list[A] | None) -> list[A] | None:
        """Count a step of a group, unless `arrivals` is None; return `arrivals`."""
        if arrivals is not None:
            del self._waiting[lockstep]
            self.releases += 1
            self._released += self._members[lockstep]
            self._due += lockstep.take_left_out()
        return arrivals


def blocks(names: Sequence[str], groups: int) -> list[tuple[str, ...]]:
    """Cut `names` into consecutive `groups`; the first len(names) mod `groups` have one more."""
    size, more = divmod(len(names), groups)
    starts = [number * size + min(number, more) for number in range(groups + 1)]
    return [tuple(names[starts[n] : starts[n + 1]]) for n in range(groups)]


def dealt(batch_size: int, members: int) -> list[int]:
    """Deal `batch_size` examples evenly over the `members` of a group; the first get the rest."""
    size, more = divmod(batch_size, members)
    return [size + (number < more) for number in range(members)]


def _weights(
    groups: Sequence[Sequence[str]], batches: Mapping[str, int]
) -> Mapping[str, float] | None:
    """Return the workers' mini-batches as weights; None if mini-batches are equal within groups."""
    if all(len({batches.get(name) for name in group}) == 1 for group in groups):
        return None
    return {name: float(size) for name, size in batches.items()}
