"""A fleet whose server is a leader with followers, with queues in place of sockets."""

from collections import deque
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np

from emulator.codecs import Dense
from emulator.core.server.parameters import Parameters
from emulator.core.sharding.connected_follower import ConnectedFollower
from emulator.core.sharding.follower import Follower
from emulator.core.sharding.leader import Leader, LeadersCodec, LeadersReplies, LeadersState
from emulator.core.sharding.parts_elsewhere import Followers
from emulator.core.sharding.server_shards import LEADER
from emulator.core.sharding.shard_channels import (
    LeaderChannel,
    NumberedNews,
    NumberedResult,
    decode_told,
)
from emulator.core.sharding.shard_orders import News, Order, Result
from emulator.log.lines import RunLog
from emulator.modulation import Constant
from emulator.optimizers import SGD
from emulator.pulls import WholeModel
from emulator.synchronization import AnySynchronization
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server
from tests.fakes.core.random_order_fleet import RATE, Fleet


class Queues:
    """Orders and reports, as bytes. A follower does its orders when somebody looks for results."""

    def __init__(self, followers: Mapping[int, ConnectedFollower], deliver: Any) -> None:
        self.followers, self._deliver = followers, deliver
        self.channels = {number: LeaderChannel(number) for number in followers}
        self.orders: dict[int, deque[bytes]] = {number: deque() for number in followers}
        self.reports: dict[int, deque[bytes]] = {number: deque() for number in followers}
        self.kept: deque[tuple[int, NumberedNews]] = deque()
        self.results: dict[int, deque[NumberedResult]] = {number: deque() for number in followers}
        for number, follower in followers.items():
            self.reports[number].append(follower.presence())
            while not self.channels[number].present:
                self._hear(number)
                self.obey(number)

    def tell(self, shard: int, order: Order) -> None:
        message = self.channels[shard].tell(order)
        if self.channels[shard].present:
            self.orders[shard].append(message)

    def obey(self, shard: int) -> None:
        """Let the follower `shard` do the orders that it has."""
        follower, reports = self.followers[shard], self.reports[shard]
        while self.orders[shard]:
            told = decode_told(self.orders[shard].popleft())
            if not follower.is_new(told):
                reports.extend(follower.answers(told))
                continue
            result, replies = follower.obey(told)
            reports.extend(result)
            self._deliver(replies)

    def _hear(self, shard: int) -> None:
        """Take what the follower `shard` has reported."""
        while self.reports[shard]:
            answers, report = self.channels[shard].hear(self.reports[shard].popleft())
            self.orders[shard].extend(answers)
            if isinstance(report, NumberedResult):
                self.results[shard].append(report)
            elif report is not None:
                self.kept.append((shard, report))

    def result(self, shard: int) -> Result:
        while not self.results[shard]:
            self._hear(shard)
            self.obey(shard)
        report = self.results[shard].popleft()
        self.channels[shard].took(report)
        return report.result

    def waiting(self) -> bool:
        for shard in self.followers:
            self._hear(shard)
        return bool(self.kept)

    def news(self) -> Iterator[tuple[int, News]]:
        self.waiting()
        for _ in range(len(self.kept)):
            shard, report = self.kept.popleft()
            self.channels[shard].took(report)
            yield shard, report.news

    def returned(self) -> list[int]:
        return []

    def state(self) -> dict[str, Any]:
        raise TypeError("these connections are not kept")

    def restore(self, state: dict[str, Any]) -> None:
        raise TypeError("these connections are not kept")


class LedFleet(Fleet):
    """A `Fleet` over `shards` that lead and follow."""

    def __init__(
        self,
        synchronization: AnySynchronization,
        examples: Mapping[str, int],
        *,
        updates: int,
        shards: int,
        late: float = 0.0,
        **options: Any,
    ) -> None:
        """`late`: share of the messages after which the leader does not look for news at once."""
        super().__init__(synchronization, examples, updates=updates, shards=shards, **options)
        assert self.shards is not None
        self.late, self.chance = late, Random(7)
        modulation = options.get("modulation") or Constant()
        optimizer, codec = options.get("optimizer") or SGD(), options.get("codec") or Dense()

        def part(number: int) -> Parameters:
            layout = self.layout.part(self.shards.segments[number])
            zeros = np.zeros(layout.size, np.float32)
            return Parameters(zeros, RATE, modulation.start(layout), optimizer=optimizer)

        followers = {}
        self.followers: dict[int, Follower] = {}
        for number in range(LEADER + 1, shards):
            segment = self.shards.segments[number]
            layout = self.layout.part(segment)
            pulls = WholeModel().start(layout)
            follower = Follower(segment, layout, part(number), pulls, codec)
            self.followers[number] = follower
            followers[number] = ConnectedFollower(follower, durable=False)
        self.queues = Queues(followers, self._deliver)
        self.following = Followers(self.queues, self.shards)
        own, layout = part(LEADER), self.layout.part(self.shards.segments[LEADER])
        pulls = WholeModel().start(layout)
        replies = LeadersReplies(own, pulls, self.layout, self.shards, self.following)
        self.server = made_server(
            LeadersState(own, self.following),
            layout=self.layout,
            shards=self.shards,
            codec=LeadersCodec(codec, layout),
            replies=replies,
            synchronizer=synchronization.start(
                frozenset(examples), options.get("seed", 0), examples
            ),
            workers=examples,
            evaluator=None,
            stop=Stop(updates=updates),
            log=RunLog(self.log),
            now=self.now,
        )
        self.leader = Leader(self.server, self.shards, self.following)

    @property
    def staged(self) -> int:
        """Parts that wait at followers, once all have done their orders."""
        self.leader.tick(self.now)
        for number in self.queues.followers:
            self.queues.obey(number)
        return sum(follower.staged for follower in self.followers.values())

    def wait(self) -> None:
        due = self.leader.deadline()
        assert due is not None, "everyone waits, and nobody knows for what"
        self.now = max(self.now, due)
        self._deliver(self.leader.tick(self.now))

    def serve(self, node: str, message: Any) -> None:
        message, shard = message
        if shard == LEADER:
            self._deliver(self.leader.handle(node, message, self.now))
        else:
            report = self.queues.followers[shard].hear(node, message)
            self.queues.reports[shard].extend(report)
        if self.chance.random() >= self.late:
            self._deliver(self.leader.tick(self.now))
        self.observe("served", node)
