"""A shard that follows, with its end of the connection with the leader: bytes in, bytes out.

All that it does follows from its inputs: the messages of devices, and the orders of the leader.
"""

from typing import Any

from ...errors import WireError
from ...plugins.stateful import Stateful
from ..server.seen_pushes import SeenPushes
from ..wire.messages import Message, Replies, Request
from .follower import Follower
from .shard_channels import FollowerChannel, Told
from .shard_orders import News, RefusedCame


class ConnectedFollower(Stateful):
    """A follower whose reports are numbered. Each method returns messages to the leader."""

    STATE = ("_follower", "_channel", "_seen")

    def __init__(self, follower: Follower, *, durable: bool) -> None:
        """`durable`: devices send a push again if a connection may have lost it."""
        self._follower, self._channel = follower, FollowerChannel()
        self._seen = SeenPushes() if durable else None

    @property
    def over(self) -> bool:
        """Whether the leader has ended the run."""
        return self._follower.over

    def knows(self, message: Message) -> bool:
        """Return whether `message` repeats a part of an update: it is not to be heard again."""
        return self._seen is not None and self._seen.knows(message)

    @property
    def seen(self) -> dict[str, Any]:
        """The last push of each device, as `SeenPushes.plain`."""
        return {} if self._seen is None else self._seen.plain()

    def hear(self, node: str, message: Message) -> list[bytes]:
        """Take `message` of `node`; report it, or its refusal."""
        if self._seen is not None:
            self._seen.repeats(message)
        try:
            if not isinstance(message, Request):
                raise WireError(f"a server does not take a {type(message).__name__}")
            return self.report(self._follower.hear(message))
        except WireError as error:
            if self._seen is not None:
                self._seen.refused(message)
            return self.report(RefusedCame(node, str(error)))

    def report(self, news: News) -> list[bytes]:
        """Report `news`."""
        return self._channel.report(news)

    def presence(self) -> bytes:
        """Report that the shard has begun, or come back."""
        return self._channel.presence()

    def answers(self, told: Told) -> list[bytes]:
        """Answer a message that is no order. Raises LostByDisk if no shard can go on."""
        return self._channel.answers(told)

    def is_new(self, told: Told) -> bool:
        """Return whether `told` is an order that was not taken before."""
        return self._channel.is_new(told)

    def obey(self, told: Told) -> tuple[list[bytes], Replies]:
        """Do the new order `told`; return its result, if it has one, and replies to devices."""
        result, replies = self._follower.obey(self._channel.take(told))
        return ([] if result is None else self._channel.report(result)), replies
