"""The part of a shard of the server that follows: its layers on a socket, led over another one."""

from ...core.sharding.follower import Follower
from ...core.sharding.shard_orders import RefusedCame
from ...core.wire.messages import Message, ModelSegment, PatchSegment, Replies, Request
from ...errors import WireError
from ...transport.shard_link import FollowerLink


class FollowingServer:
    """A follower for the driver of the server's socket: what comes is reported to the leader."""

    def __init__(self, follower: Follower, link: FollowerLink) -> None:
        self._follower, self._link = follower, link
        self._ended = False

    @property
    def over(self) -> bool:
        return self._ended or self._follower.over

    def handle(self, node: str, message: Message, now: float) -> Replies:
        """Report `message` of `node`, or its refusal, to the leader. Nothing is answered here."""
        try:
            if not isinstance(message, Request):
                raise WireError(f"a server does not take a {type(message).__name__}")
            self._link.tell(self._follower.hear(message))
        except WireError as error:
            self.refuse(node, str(error), now)
        return []

    def refuse(self, node: str, reason: str, now: float) -> None:
        self._link.tell(RefusedCame(node, reason))

    def hears(self, node: str) -> bool:
        """Return True: the leader alone knows of quarantines, and drops what it is told."""
        return True

    def unsent(self, unsent: Replies, now: float) -> None:
        for node, reply in unsent:
            if isinstance(reply, ModelSegment | PatchSegment):
                self._link.tell(self._follower.unsent(node, reply))

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> Replies:
        """Do the leader's orders that have come; return the replies to devices."""
        replies: Replies = []
        while not self.over and (order := self._link.order()) is not None:
            result, own = self._follower.obey(order)
            replies += own
            if result is not None:
                self._link.tell(result)
        return replies

    def end(self, reason: str, now: float) -> Replies:
        """End at once: the run is being removed."""
        self._ended = True
        return []
