"""Waiting of activations: the devices of a group pass through the server's layers together.

A device of a cut model meets the others of its group twice in an iteration, with its activations
and with its push. The synchronizer of pushes cannot tell a device that has died from one whose
activations wait here, and the gate cannot tell a dead device from one whose push waits there. So
each is told of the other: a device whose activations have arrived is not waited for by the pushes
of its group, and a device that a step of pushes did without is not waited for here, until its next
activations.
"""

from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from ...plugins.stateful import Stateful

SentT = TypeVar("SentT")
"""Record of a device's activations, kept by the caller."""


class ActivationGate(Generic[SentT]):
    """Lets the devices of a group pass together; devices without a group pass at once."""

    def __init__(self, groups: Iterable[Collection[str]], patience: float) -> None:
        """Wait `patience` seconds for the rest of a group; then the missing are given up."""
        self._patience = patience
        self._group: dict[str, _Group[SentT]] = {}  # by member
        self._away: set[str] = set()  # devices that have said goodbye
        for names in groups:
            self._group |= dict.fromkeys(names, _Group(frozenset(names)))
        self._given_up: list[str] = []  # since the last `take_given_up`
        # Groups with a deadline, the earliest first: a new deadline is later than all others.
        self._waiting: dict[_Group[SentT], None] = {}

    def state(self) -> dict[str, Any]:
        """Return the state of each group, and the numbers of the groups that wait."""
        groups = list(dict.fromkeys(self._group.values()))
        return {
            "away": self._away,
            "given_up": self._given_up,
            "groups": [group.state() for group in groups],
            "waiting": [groups.index(group) for group in self._waiting],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`, of a gate with the same groups."""
        groups = list(dict.fromkeys(self._group.values()))
        for group, own in zip(groups, state["groups"], strict=True):
            group.restore(own)
        self._away, self._given_up = state["away"], state["given_up"]
        self._waiting = dict.fromkeys(groups[number] for number in state["waiting"])

    def arrive(self, node: str, sent: SentT, now: float) -> list[SentT] | None:
        """Take the activations `sent` by `node`; return the whole group's, or None to wait."""
        group = self._group.get(node)
        if group is None:
            return [sent]
        group.take(node, sent)
        if group.deadline is None:
            self._wait(group, now)
        return self._opened(group)

    def withdraw(self, node: str) -> None:
        """Forget the activations of `node`; the group goes on waiting for `node`."""
        if group := self._group.get(node):
            group.arrived.pop(node, None)

    def departed(self, node: str) -> list[SentT] | None:
        """Wait no more for `node`, whose activations are withdrawn; return as `arrive`."""
        group = self._group.get(node)
        if group is None:
            return None
        self._away.add(node)
        group.absent.add(node)
        return self._opened(group)

    def returned(self, node: str) -> None:
        """Wait for `node` again."""
        self._away.discard(node)
        if group := self._group.get(node):
            group.absent.discard(node)

    def expect(self, nodes: Collection[str]) -> None:
        """Wait for the `nodes` of a group, and not for the other members until they send again."""
        group = self._group.get(next(iter(nodes)))
        if group is not None:
            group.absent = set(group.members.difference(nodes, group.arrived))
            group.absent |= self._away & group.members

    def deadline(self) -> float | None:
        """Return the time at which to call `tick`; None if nothing is waited for."""
        group = next(iter(self._waiting), None)
        return group.deadline if group else None

    def tick(self, now: float) -> list[SentT] | None:
        """Give up the missing members of the group that has waited longest; return as `arrive`."""
        due = self.deadline()
        if due is None or now < due:
            return None
        group = next(iter(self._waiting))
        self._given_up += group.give_up()
        if (passing := self._opened(group)) is None:
            # a member has withdrawn its activations a moment ago, and may send others
            del self._waiting[group]
            group.deadline = None
            if group.arrived:
                self._wait(group, now)
        return passing

    def take_given_up(self) -> list[str]:
        """Return the devices that `tick` has given up since the last call."""
        given_up, self._given_up = self._given_up, []
        return given_up

    def clear(self) -> None:
        """Forget all activations: the run ends."""
        for group in self._waiting:
            group.clear()
        self._waiting.clear()

    def _wait(self, group: "_Group[SentT]", now: float) -> None:
        group.deadline = now + self._patience
        self._waiting[group] = None

    def _opened(self, group: "_Group[SentT]") -> list[SentT] | None:
        """Return the activations of `group` if no member is missing, and forget them."""
        if not group.complete:
            return None
        passing = list(group.arrived.values())
        group.clear()
        del self._waiting[group]
        return passing


class _Group(Stateful, Generic[SentT]):
    """Members of a group, and their activations that wait."""

    STATE = ("arrived", "absent", "heard", "deadline")

    __slots__ = ("absent", "arrived", "deadline", "heard", "members")

    def __init__(self, members: frozenset[str]) -> None:
        self.members = members
        self.arrived: dict[str, SentT] = {}
        self.absent: set[str] = set()  # members that are not waited for; never in `arrived`
        self.heard: set[str] = set()  # senders since the deadline was set
        self.deadline: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every member that is waited for has arrived, at least one."""
        return bool(self.arrived) and len(self.arrived) + len(self.absent) == len(self.members)

    def take(self, node: str, sent: SentT) -> None:
        self.absent.discard(node)
        self.heard.add(node)
        self.arrived[node] = sent

    def give_up(self) -> list[str]:
        """Wait no more for members that have sent nothing since the deadline was set; return them.

        A member that sent and withdrew is alive: were its time-out to renew the group's deadline,
        dead members would be waited for as often as it times out.
        """
        silent = self.members - self.heard - self.absent
        self.absent |= silent
        self.heard = set(self.arrived)
        return sorted(silent)

    def clear(self) -> None:
        self.arrived, self.heard, self.deadline = {}, set(), None
