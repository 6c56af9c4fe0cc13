"""Rounds: drawn devices train alone for a while; the mean of their updates makes the next model.

A device that is not drawn gets no model. An update that comes too late for its round is refused, as
it belongs to an old model. A round without any update makes no step: the model stays current, and a
later update from it counts in the next round.
"""

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Generic

from .. import chance
from ..errors import WireError
from ..plugins.stateful import Stateful
from .base import A, LeftOut, LeftOutCount


def clients_per_round(share: float, members: int) -> int:
    """Return max(⌊share · members⌋, 1), the paper's max(C · K, 1) (McMahan et al., 2017)."""
    # decimal arithmetic: in binary 0.29 · 100 is below 29
    return max(1, int(Decimal(repr(float(share))) * members))


class Rounds(Stateful, Generic[A]):
    """State of a round: drawn devices, devices with the current model, and arrived updates.

    After `patience` the round ends without the missing devices. A device given up is still drawn,
    but in addition to the wanted number and without being waited for, until it sends an update in
    time. If too few other devices are left, the round waits for all devices that train on the
    current model. A device that has said goodbye is not drawn before it returns.
    """

    STATE = (
        *("_given_up", "_away", "_deadline", "_arrivals", "_left_out", "_training"),
        *("_drawn", "_awaited", "releases"),
    )

    def __init__(
        self,
        members: Iterable[str],
        clients: int,
        patience: float,
        seed: int,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        """Draw the first round; `seed` is the run's seed, `clients` the devices wanted for a
        round."""
        self._members = sorted(members)
        self._clients, self._patience, self._seed = clients, patience, seed
        self.weights = weights
        self.releases = 0
        self._given_up: set[str] = set()
        self._away: set[str] = set()  # devices that have said goodbye
        self._deadline: float | None = None
        self._arrivals: dict[str, A] = {}
        self._left_out = LeftOut()
        self._training: set[str] = set()  # they train on the current model
        self._draw()

    def begin(self, now: float) -> None:
        self._deadline = now + self._patience

    def sent(self, node: str) -> None:
        self._training.add(node)

    def arrive(self, node: str, arrival: A, now: float) -> list[A] | None:
        if node not in self._training:
            raise WireError(f"the update of {node} is too late: its round is over")
        self._training.discard(node)
        self._given_up.discard(node)
        self._arrivals[node] = arrival
        self._awaited.discard(node)
        return None if self._awaited else self._next(now)

    def failed(self, node: str, now: float) -> list[A] | None:
        """End the round for `node`, which would fail again from the same model."""
        if node not in self._training:
            return None
        for nodes in (self._training, self._drawn, self._awaited):
            nodes.discard(node)
        return None if self._awaited else self._next(now)

    def departed(self, node: str, now: float) -> list[A] | None:
        """Draw `node` no more; end the round if it waited for `node` alone."""
        awaited = node in self._awaited
        self._away.add(node)
        for nodes in (self._training, self._drawn, self._awaited):
            nodes.discard(node)
        return self._next(now) if awaited and not self._awaited else None

    def returned(self, node: str, now: float) -> None:
        """Draw `node` again; begin a new round if the present round waits for no device."""
        self._away.discard(node)
        self._given_up.discard(node)
        if not self._awaited:  # then no update has arrived either, as the first ends the round
            self._next(now)

    def holds(self, node: str) -> bool:
        return node not in self._drawn or node in self._arrivals

    def deadline(self) -> float | None:
        return self._deadline

    def tick(self, now: float) -> list[A] | None:
        if self._deadline is None or now < self._deadline:
            return None
        self._given_up |= self._drawn.difference(self._arrivals)
        return self._next(now)

    def give_up(self, nodes: Collection[str]) -> None:
        self._given_up.update(nodes)

    def take_left_out(self) -> list[LeftOutCount]:
        return self._left_out.take_left_out()

    def left_out(self) -> list[LeftOutCount]:
        return self._left_out.left_out()

    def _next(self, now: float) -> list[A]:
        """Return the arrived updates as the next step, and draw the next round."""
        arrived, arrivals = set(self._arrivals), list(self._arrivals.values())
        self._arrivals.clear()
        if arrivals:  # else there is no step, and the model stays current
            self._training.clear()
            # a device is left out of the rounds for which it was drawn
            late = sorted((self._given_up & self._drawn).difference(arrived))
            self._left_out.give_up(late)
            self._left_out.step()
            for node in late:
                self._left_out.back(node)
        self.releases += 1
        self._draw()
        # with no device left there is nothing to wait for before one returns
        self._deadline = now + self._patience if self._drawn else None
        return arrivals

    def _draw(self) -> None:
        """Draw devices in random order until `clients` live ones are found.

        Given-up devices met on the way are drawn in addition.
        """
        self._drawn: set[str] = set()
        self._awaited: set[str] = set()
        order = chance.stream(chance.clients(self._seed, self.releases)).permutation(
            len(self._members)
        )
        for index in order.tolist():
            if len(self._awaited) == self._clients:
                return
            node = self._members[index]
            if node in self._away:
                continue
            self._drawn.add(node)
            if node not in self._given_up:
                self._awaited.add(node)
        if len(self._awaited) < self._clients:
            self._awaited |= self._training
