"""Connections of devices with the shards of a server: rates that a device's messages share."""

import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import link_constants
from emulator.runtimes.virtual.links.server_link import ServerLink
from emulator.runtimes.virtual.links.shard_links import ShardLinks, SharedShards
from emulator.runtimes.virtual.links.transmission import LinkConstants
from emulator.units import Rate
from emulator.world.links.link import FRAME, Link, Side

MB = round(1e6 / FRAME)
"""Bytes of a message of 8 Mbit of frames."""


def links(
    heap: Heap, own: float, shard: float, shards: int = 4, devices: int = 1, **constants: Any
) -> ShardLinks:
    """Return links with these rates in bits of frames a second."""
    shared = SharedShards([ServerLink(heap, shard) for _ in range(shards)], shard)
    law = LinkConstants(own, **constants)
    return ShardLinks(heap, law, devices, lambda who: Random(who), shared, changing=True)


def arrivals(heap: Heap, sent: ShardLinks, *messages: tuple[int, int, int]) -> list[float]:
    """Send messages, given as device, size and shard, at once; return when each arrives."""
    arrived = [math.nan] * len(messages)
    for index, (device, size, shard) in enumerate(messages):
        sent.send(device, size, lambda i=index: arrived.__setitem__(i, heap.now), shard=shard)
    heap.run(math.inf, 10_000)
    return arrived


ALL = [(0, MB, shard) for shard in range(4)]


@pytest.mark.parametrize(
    ("own", "shard", "seconds"),
    [
        (8e6, math.inf, 4.0),  # its own link carries four messages of 8 Mbit
        (8e6, 1e9, 4.0),
        (1e9, 8e6, 1.0),  # each shard's link carries one of them
        (math.inf, 8e6, 1.0),
        (math.inf, math.inf, 0.0),
    ],
)
def test_messages_to_all_shards_pass_at_once(own: float, shard: float, seconds: float) -> None:
    heap = Heap()
    for arrived in arrivals(heap, links(heap, own, shard), *ALL):
        assert arrived == pytest.approx(seconds, rel=1e-4)


def test_a_message_has_the_whole_rate_once_the_others_are_through() -> None:
    heap = Heap()
    sent = (0, MB, 0), (0, 3 * MB, 1)
    # both at 4 Mbit/s for 2 s; then 16 Mbit at 8 Mbit/s
    expected = pytest.approx([2.0, 4.0], rel=1e-4)
    assert arrivals(heap, links(heap, 8e6, math.inf), *sent) == expected


def test_messages_to_one_shard_keep_their_order() -> None:
    heap = Heap()
    sent = (0, MB, 2), (0, MB, 2), (0, 1, 2)
    expected = pytest.approx([1.0, 2.0, 2.0], rel=1e-4)
    assert arrivals(heap, links(heap, 8e6, math.inf), *sent) == expected


def test_devices_share_the_link_of_a_shard_and_not_those_of_others() -> None:
    heap = Heap()
    sent = (0, MB, 0), (1, MB, 0), (2, MB, 1)
    expected = pytest.approx([2.0, 2.0, 1.0], rel=1e-4)
    assert arrivals(heap, links(heap, 1e9, 8e6, devices=3), *sent) == expected


def test_a_cut_holds_all_connections_and_each_goes_on_where_it_was() -> None:
    heap = Heap()
    sent = links(heap, 8e6, 1e9)
    heap.at(1.0, sent.cut, 0)
    heap.at(3.0, sent.mend, 0)
    for arrived in arrivals(heap, sent, *ALL):
        assert arrived == pytest.approx(6.0, rel=1e-4)


def test_a_changed_link_changes_all_connections() -> None:
    heap = Heap()
    sent = links(heap, 8e6, 1e9)
    heap.at(2.0, sent.reshape, 0, LinkConstants(32e6))
    for arrived in arrivals(heap, sent, *ALL):
        assert arrived == pytest.approx(2.5, rel=1e-4)


def test_bytes_are_counted_by_shard_also_of_messages_under_way_and_dropped() -> None:
    heap = Heap()
    sent = links(heap, 8e6, math.inf, devices=2)
    counts = []

    def count() -> None:
        counts.append((sent.carried_by_shard(), [sent.carried(n) for n in range(2)]))

    heap.at(1.0, count)
    heap.at(1.5, sent.drop, 0)
    heap.at(9.0, count)
    arrived = arrivals(heap, sent, (0, MB, 0), (0, MB, 1), (1, MB, 3))
    assert arrived[:2] == pytest.approx([math.nan] * 2, nan_ok=True)
    (early, early_own), (late, late_own) = counts
    assert early == pytest.approx([MB / 2, MB / 2, 0, MB], rel=1e-3)
    assert late == pytest.approx([0.75 * MB, 0.75 * MB, 0, MB], rel=1e-3)
    assert (sum(early), sum(late)) == (sum(early_own), sum(late_own))


@pytest.mark.parametrize("resend", [True, False])
def test_a_new_connection_sends_what_waits_for_every_shard(resend: bool) -> None:
    heap = Heap()
    sent = links(heap, 8e6, math.inf, shards=2)
    arrived: list[int] = []
    for shard in (0, 1):
        sent.send(0, MB, arrived.append, shard, shard=shard)  # leaves, and is lost
        sent.send(0, 1, arrived.append, 10 + shard, shard=shard)
    heap.run(0.5, 100)
    assert sent.reconnect(0, resend=resend) is resend
    heap.run(math.inf, 100)
    assert sorted(arrived) == ([10, 11] if resend else [])


def test_a_new_connection_that_lacks_a_question_for_one_shard_sends_none() -> None:
    heap = Heap()
    sent = links(heap, 8e6, math.inf, shards=2)
    sent.send(0, MB, lambda: None, shard=0)
    sent.send(0, 1, lambda: None, shard=0)
    assert not sent.reconnect(0, resend=True)


HOME = Link(Side(rate=Rate(3e6), delay=0.02), Side(rate=Rate(3e6), delay=0.02))  # type: ignore


def moved(group: Any, heap: Heap, law: LinkConstants, seed: int) -> list[tuple[float, int]]:
    """Send, cut, mend, change and drop by chance; return the arrivals, and bytes by device."""
    dice, noted, cut = Random(f"moves/{seed}"), [], set[int]()

    def move(n: int) -> None:
        number, kind = dice.randrange(3), dice.random()
        if kind < 0.6:
            size = dice.choice([50, 9_000, 200_000])
            group.send(number, size, lambda: noted.append((heap.now, n)))
        elif kind < 0.75:
            (group.mend if number in cut else group.cut)(number)
            cut.symmetric_difference_update({number})
        elif kind < 0.9:
            group.reshape(number, dice.choice([None, replace(law, rate=1e6)]))
        elif number not in cut:
            group.drop(number)

    for n in range(60):
        heap.at(dice.uniform(0, 10), move, n)
    heap.run(200.0, 100_000)
    return [*noted, *((group.carried(number), -number) for number in range(3))]


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_single_shard_is_the_server_to_the_bit(seed: int, tcp: bool) -> None:
    law = replace(link_constants(HOME, Link(), "up", tcp=tcp), jitter=0.004)
    rate, kinds = [2e6, 50e6][seed % 2], []
    for sharded in (False, True):
        heap = Heap()
        given = heap, law, 3, lambda who: Random(f"dice of {who}")
        link = ServerLink(heap, rate)
        group: Any = LinkGroup(*given, link, changing=True)
        if sharded:
            group = ShardLinks(*given, SharedShards([link], rate), changing=True)
        kinds.append(moved(group, heap, law, seed))
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) > 10
