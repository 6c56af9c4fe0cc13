"""The access links of the server's shards, in one direction: a SharedRate.

A device has one link, over which the messages of all shards pass one behind the other. So each
message is a flow on the link of its shard only. Where the device's link is the slower one, as is
usual, this takes as long as several connections at once; where a shard's link is slower, several
connections at once would be faster while few devices send.
"""

from collections.abc import Sequence

from .server_link import ServerLink
from .transmission import Transmission


class ShardLinks:
    """Passes each message over the link of its shard."""

    def __init__(self, links: Sequence[ServerLink]) -> None:
        """`links` has an item for each shard."""
        self._links = links

    def join(self, flow: Transmission, bits: float, own_rate: float) -> None:
        """Begin `flow`, as `ServerLink.join`."""
        self._links[flow.message.shard].join(flow, bits, own_rate)

    def leave(self, flow: Transmission, own_rate: float) -> float:
        """Take out `flow` before the end; return the bits left to send."""
        return self._links[flow.message.shard].leave(flow, own_rate)

    def left(self, flow: Transmission, own_rate: float) -> float:
        """Return the bits of `flow` left to send."""
        return self._links[flow.message.shard].left(flow, own_rate)
