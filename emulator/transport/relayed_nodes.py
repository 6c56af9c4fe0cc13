"""The nodes that reach the server through a relay, and the versions that each relay has.

A relay passes on the messages of the nodes of its host, each behind a frame with the node's name.
The model of a version goes to a relay once: for a further node the reply has no parameters, and the
relay puts in those that it has.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.wire.messages import ModelReply
from ..errors import WireError
from ..vectors import Vector

NOTHING: Vector = np.zeros(0, np.float32)


class RelayedNodes:
    """The nodes behind relays, for the server's router. Without relays it changes nothing."""

    def __init__(self, relays: Mapping[str, list[str]]) -> None:
        """`relays` has the nodes that each relay may speak for."""
        self._relays = {relay: frozenset(nodes) for relay, nodes in relays.items()}
        self._nodes = frozenset(node for nodes in relays.values() for node in nodes)
        self._versions: dict[bytes, int] = {}
        """Version of the model that went last over each connection to a relay."""

    @property
    def most(self) -> int:
        """Most nodes behind one connection, at least 1."""
        return max(map(len, self._relays.values()), default=1)

    def speaks(self, peer: str) -> bool:
        """Return whether `peer` is a relay, which speaks for others."""
        return peer in self._relays

    def knows(self, node: str) -> bool:
        """Return whether `node` is behind a relay."""
        return node in self._nodes

    def sender(self, relay: str, name: bytes) -> str:
        """Return the node for which `relay` passes a message on, by the frame with its `name`.

        Raises WireError if the relay may not speak for it.
        """
        node = name.decode(errors="replace")
        if node not in self._relays[relay]:
            raise WireError(f"{relay} speaks for {node[:80]!r}")
        return node

    def spared(self, route: bytes, message: Any) -> Any:
        """Return `message` as it goes over the connection `route`: a model that the relay has goes
        without its parameters."""
        if isinstance(message, ModelReply) and self._versions.get(route) == message.version:
            return replace(message, theta=NOTHING)
        return message

    def sent(self, route: bytes, message: Any) -> None:
        """Take that `message` was queued for the connection `route`."""
        if isinstance(message, ModelReply):
            self._versions[route] = message.version
