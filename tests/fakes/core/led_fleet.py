"""A fleet whose server is a leader with followers, with queues in place of sockets."""

from collections import deque
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np

from emulator.codecs import Dense
from emulator.core.server.parameters import Parameters
from emulator.core.sharding.follower import Follower
from emulator.core.sharding.leader import (
    Followers,
    Leader,
    LeadersCodec,
    LeadersReplies,
    LeadersState,
)
from emulator.core.sharding.server_shards import LEADER
from emulator.core.sharding.shard_orders import (
    News,
    Order,
    RefusedCame,
    Report,
    Result,
    decode_order,
    decode_report,
    encode,
)
from emulator.errors import WireError
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

    def __init__(self, followers: Mapping[int, Follower], deliver: Any) -> None:
        self.followers, self._deliver = followers, deliver
        self.orders: dict[int, deque[bytes]] = {number: deque() for number in followers}
        self.reports: dict[int, deque[bytes]] = {number: deque() for number in followers}
        self.kept: deque[tuple[int, News]] = deque()

    def tell(self, shard: int, order: Order) -> None:
        self.orders[shard].append(encode(order))

    def report(self, shard: int, report: Report) -> None:
        self.reports[shard].append(encode(report))

    def obey(self, shard: int) -> None:
        """Let the follower `shard` do the orders that it has."""
        while self.orders[shard]:
            order = decode_order(self.orders[shard].popleft())
            result, replies = self.followers[shard].obey(order)
            if result is not None:
                self.report(shard, result)
            self._deliver(replies)

    def result(self, shard: int) -> Result:
        self.obey(shard)
        while True:
            report = decode_report(self.reports[shard].popleft())
            if isinstance(report, Result):
                return report
            self.kept.append((shard, report))

    def news(self) -> Iterator[tuple[int, News]]:
        while self.kept:
            yield self.kept.popleft()
        for shard, reports in self.reports.items():
            while reports:
                report = decode_report(reports.popleft())
                assert not isinstance(report, Result)
                yield shard, report


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
        for number in range(LEADER + 1, shards):
            segment = self.shards.segments[number]
            layout = self.layout.part(segment)
            pulls = WholeModel().start(layout)
            followers[number] = Follower(segment, layout, part(number), pulls, codec)
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
        return sum(follower.staged for follower in self.queues.followers.values())

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
            try:
                self.queues.report(shard, self.queues.followers[shard].hear(message))
            except WireError as error:
                self.queues.report(shard, RefusedCame(node, str(error)))
        if self.chance.random() >= self.late:
            self._deliver(self.leader.tick(self.now))
        self.observe("served", node)
