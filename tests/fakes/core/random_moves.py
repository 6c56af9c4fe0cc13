"""Random order: devices and their server do one thing after another, and chance chooses which.

Messages of one node keep their order. Time stands still while anything is under way.
"""

from abc import ABC, abstractmethod
from random import Random
from typing import Any

from emulator.core.server.parameter_server import ParameterServer


class RandomMoves(ABC):
    """A server and its `devices` by name, of which one at a time sends, hears or computes."""

    server: ParameterServer
    dice: Random
    devices: dict[str, Any]
    """Each has an `inbox`, an `outbox`, `work` to do or None, and `listens` while it waits."""

    def play(self, most: int = 100_000) -> None:
        """Until the run is over."""
        for _ in range(most):
            if self.server.over:
                return
            self.step()
        raise AssertionError("it does not come to an end")

    def step(self) -> None:
        """Let one thing happen; if nothing can, let time pass."""
        moves = [(node, kind) for node in sorted(self.devices) for kind in self._possible(node)]
        if not moves:
            self.wait()
            return
        node, kind = self.dice.choice(moves)
        device = self.devices[node]
        if kind == "send":
            self.serve(node, device.outbox.popleft())
        elif kind == "hear":
            self.live(node, device.inbox.popleft())
        else:
            work, device.work = device.work, None
            self.live(node, self.worked(node, work))

    def _possible(self, node: str) -> list[str]:
        device = self.devices[node]
        return [
            *(["send"] if device.outbox else []),
            *(["hear"] if device.listens and device.inbox else []),
            *(["work"] if device.work is not None else []),
        ]

    @abstractmethod
    def wait(self) -> None:
        """Let time pass to the next time-out."""

    @abstractmethod
    def serve(self, node: str, message: Any) -> object:
        """Pass `message` of `node` to the server, and the replies to the devices."""

    @abstractmethod
    def live(self, node: str, outcome: Any) -> None:
        """Send `outcome` to the coroutine of `node`, and run it until it waits or computes."""

    @abstractmethod
    def worked(self, node: str, work: Any) -> Any:
        """Return the result of the computation `work`."""
