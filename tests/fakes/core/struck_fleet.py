"""A fleet in random order whose devices crash, boot and lose their connections at any moment."""

from collections import Counter
from random import Random
from typing import Any


class StruckFleet:
    """Strikes the devices of `fleet`, and counts the strikes amid a pull or a push."""

    fleet: Any
    """Set by the subclass, whose observer it may have."""

    def __init__(self, seed: int) -> None:
        self.dice, self.boots = Random(seed), Counter[str]()
        self.struck = Counter[str]()

    def amid(self, node: str) -> dict[str, bool]:
        """Return whether `node` is amid a `push`, and amid a `pull`."""
        raise NotImplementedError

    def strike(self, node: str) -> None:
        """Crash, boot or cut off `node`."""
        fleet = self.fleet
        if node not in fleet.devices:
            self.boots[node] += 1
            fleet.boot(node, self.boots[node])
            return
        device = fleet.devices[node]
        for what, holds in self.amid(node).items():
            self.struck[what] += holds
        if self.dice.random() < 0.5:
            fleet.kill(node)
            return
        while device.outbox and self.dice.random() < 0.7:
            device.outbox.pop()
        device.inbox.clear()
        device.inbox.append(None)  # a new connection: the answer to wait for is lost

    def play(self, most: int = 200_000) -> None:
        """Play the run to its end. Raises AssertionError if it has none."""
        for _ in range(most):
            if self.fleet.server.over:
                return
            self.fleet.step()
            if self.fleet.server.zero is not None and self.dice.random() < 0.03:
                self.strike(self.dice.choice("abc"))
        raise AssertionError("the run does not end")
