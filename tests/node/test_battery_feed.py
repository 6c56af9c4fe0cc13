"""The battery of a container's device: the kernel's counters go in, verbs come out."""

import math
import os
import time

import pytest

from emulator.node import battery_feed
from emulator.node.battery_feed import BatteryFeed, processor_seconds
from emulator.world.battery import BatteryConstants, Charging

CONSTANTS = BatteryConstants(
    capacity=100.0,
    idle=1.0,
    core=10.0,
    sent=2.0,
    received=1.0,
    starts=1.0,
    back=0.25,
    clock=0.0,
    day=1000.0,
    charging=(Charging(60.0, 100.0, 5.0),),
)


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    taken = {7: 40.0, 8: 0.0}
    monkeypatch.setattr(battery_feed, "processor_seconds", taken.__getitem__)
    return taken


def test_time_work_and_bytes_drain_a_battery(seconds: dict[int, float]) -> None:
    feed = BatteryFeed(CONSTANTS)
    assert feed.tick(900.0, 7, (50, 50)) is None and feed.news() is None  # before the run's zero
    feed.begin(1000.0, (100, 200))
    feed.begin(1005.0, (0, 0))  # the next incarnation says so, too
    seconds[7] = 43.0
    assert feed.tick(1010.0, 7, (105, 210)) is None
    assert feed.level() == pytest.approx((100 - 10 - 30 - 5 - 20) / 100)
    assert feed.news() is None
    assert feed.tick(1020.0, 7, (105, 210)) is None
    assert feed.news() == pytest.approx(0.25)
    assert feed.tick(1045.0, 7, (105, 210)) == "kill" and feed.empty and not feed.lost
    assert feed.tick(1060.0, None, (105, 210)) is None
    assert feed.tick(1065.5, None, (105, 210)) == "start"
    assert feed.level() == pytest.approx(0.275)
    seconds[8] = 1.0  # another process
    assert feed.tick(1066.5, 8, (105, 210)) is None
    assert feed.level() == pytest.approx((27.5 + 5 - 1 - 10) / 100)


def test_a_battery_without_a_charger_is_lost(seconds: dict[int, float]) -> None:
    feed = BatteryFeed(CONSTANTS._replace(charging=()))
    feed.begin(0.0, (0, 0))
    assert not feed.lost
    assert feed.tick(101.0, 7, (0, 0)) == "kill" and feed.lost


def test_the_supervisor_learns_when_an_idle_battery_will_be_empty_and_charged(
    seconds: dict[int, float],
) -> None:
    feed = BatteryFeed(CONSTANTS)
    assert feed.due(8) == math.inf
    feed.begin(1000.0, (0, 0))
    assert feed.tick(1058.4, 8, (0, 0)) is None and feed.due(8) == math.inf
    assert feed.tick(1058.5, 8, (1, 20)) is None  # half a joule is left
    assert feed.due(8) == pytest.approx(1059.0, abs=0.01) and feed.due(8) > 1059.0
    assert feed.due(None) == math.inf  # another fault keeps the device off
    assert feed.tick(feed.due(8), 8, (1, 20)) == "kill"
    assert feed.due(None) == math.inf
    assert feed.tick(1064.5, None, (1, 20)) is None
    assert feed.due(None) == pytest.approx(1065.0, abs=0.01)  # 25 J at 5 W from 1060 s on
    assert feed.tick(feed.due(None), None, (1, 20)) == "start"


def test_the_kernel_counts_the_work_of_a_process() -> None:
    before, until = processor_seconds(os.getpid()), time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert 0.1 <= processor_seconds(os.getpid()) - before < 0.6
    assert processor_seconds(2**22 + 1) == 0.0
