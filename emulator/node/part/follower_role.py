"""The part of a shard of the server that follows: its layers on a socket, led over another one."""

from contextlib import AbstractContextManager, nullcontext

from ...core.sharding.connected_follower import ConnectedFollower
from ...core.sharding.follower import Follower
from ...core.sharding.shard_channels import Told, encode
from ...core.sharding.shard_orders import News, RefusedCame
from ...core.wire.messages import Message, ModelSegment, PatchSegment, Replies
from ...transport.shard_link import FollowerLink
from ..durable import input_log
from ..durable.input_log import Observed
from ..durable.journal import Journal


class FollowingServer:
    """A follower for the driver of the server's socket: what comes is reported to the leader.

    With a `journal` each input is on the disk before the shard takes it.
    """

    def __init__(
        self, shard: ConnectedFollower, link: FollowerLink, journal: Journal | None = None
    ) -> None:
        self._shard, self._link, self._journal = shard, link, journal
        self._ended = False
        link.say([shard.presence()])

    @property
    def over(self) -> bool:
        return self._ended or self._shard.over

    def handle(self, node: str, message: Message, now: float) -> Replies:
        """Report `message` of `node`, or its refusal, to the leader. Nothing is answered here."""
        if self._shard.knows(message):
            return []
        if self._journal:
            self._journal.append(input_log.received(now, message, node))
        with self._work():
            report = self._shard.hear(node, message)
        self._link.say(report)
        return []

    def refuse(self, node: str, reason: str, now: float) -> None:
        self._observe(RefusedCame(node, reason), now)

    def hears(self, node: str) -> bool:
        """Return True: the leader alone knows of quarantines, and drops what it is told."""
        return True

    def unsent(self, unsent: Replies, now: float) -> None:
        for node, reply in unsent:
            if isinstance(reply, ModelSegment | PatchSegment):
                self._observe(Follower.unsent(node, reply), now)

    def _observe(self, news: News, now: float) -> None:
        if self._journal:
            self._journal.append(input_log.parts(Observed(now), [encode(news)]))
        self._link.say(self._shard.report(news))

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> Replies:
        """Do the leader's orders that have come; return the replies to devices."""
        if self._journal and self._journal.ready() and self._journal.due:
            facts = {"seen": self._shard.seen}
            self._journal.save(self._journal.number, facts, self._shard.state())
        replies: Replies = []
        while not self.over and (told := self._link.told()) is not None:
            if self._shard.is_new(told):
                replies += self._obey(told, now)
            else:
                self._link.say(self._shard.answers(told))
        return replies

    def _obey(self, told: Told, now: float) -> Replies:
        if self._journal:
            self._journal.append(input_log.parts(input_log.Told(now), [encode(told)]))
        with self._work():
            result, replies = self._shard.obey(told)
        self._link.say(result)
        return replies

    def _work(self) -> AbstractContextManager[None]:
        return self._journal.work() if self._journal else nullcontext()

    def end(self, reason: str, now: float) -> Replies:
        """End at once: the run is being removed."""
        self._ended = True
        return []
