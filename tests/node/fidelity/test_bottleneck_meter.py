"""The meter of a bottleneck on made-up counters."""

from typing import Any

import pytest

from emulator.node.config import GatewayRole, MeasuredLink, Network, NodeConfig
from emulator.node.fidelity import bottleneck_meter
from emulator.node.fidelity.bottleneck_meter import BottleneckMeter
from emulator.node.fidelity.queue_counters import Queue
from emulator.world.emulated_clock import EmulatedClock


def made(monkeypatch: pytest.MonkeyPatch) -> tuple[BottleneckMeter, list[float]]:
    """A meter whose uplink is busy with 8 Mbit/s from second 100 on, and its clock."""
    now = [100.0]

    class Kernel:
        def read(self) -> list[Queue]:
            sent = int((now[0] - 100) * 1e6)
            own = [Queue(7, "tbf", sent // 2, waiting=9), Queue(7, "htb", sent, waiting=9)]
            return [Queue(3, "htb", 5), *own]

    monkeypatch.setattr(bottleneck_meter, "QueueReader", Kernel)
    monkeypatch.setattr(bottleneck_meter.socket, "if_nametoindex", {"ifb-up": 7}.__getitem__)
    monkeypatch.setattr(EmulatedClock, "now", lambda self: now[0])
    measured = MeasuredLink({"up": {"rate": 8e6}, "down": {}})
    sent = {"ifb-down": lambda: 7, "ifb-up": lambda: int((now[0] - 100) * 1e6)}
    monkeypatch.setattr(bottleneck_meter, "device_bytes", lambda device: sent[device]())
    node = NodeConfig("street", 0, GatewayRole(), Network(measured=measured))
    return BottleneckMeter(node), now


def played(meter: BottleneckMeter, now: list[float], until: float) -> list[dict[str, Any]]:
    """What the meter reports until the time `until`, without an end."""
    said: list[dict[str, Any]] = []
    while now[0] < until:
        meter.tick(lambda report: said.append({"what": report.what, **report.facts()}))
        now[0] += max(meter.rest(), 0.001)
    return said


def test_the_rate_is_that_of_all_members_together(monkeypatch: pytest.MonkeyPatch) -> None:
    (report,) = (each for each in played(*made(monkeypatch), 111) if each["what"] == "link")
    assert (report["way"], report["requested_rate"]) == ("up", 8e6)
    assert report["rate"] == pytest.approx(8e6, rel=1e-3)
    assert report["busy"] > 1


def test_the_end_reports_what_no_window_has_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    meter, now = made(monkeypatch)
    assert {each["what"] for each in played(meter, now, 103.5)} == {"traffic"}
    now[0], last = 103.5, list[dict[str, Any]]()
    meter.end(lambda report: last.append({"what": report.what, **report.facts()}))
    traffic, report = last
    assert (traffic["rx"], traffic["tx"]) == (7, pytest.approx(3.5e6, rel=0.1))
    assert report["lasts"] == pytest.approx(3.5, abs=0.1)
    assert (report["busy"] > 0.9, report["rate"]) == (True, pytest.approx(8e6, rel=1e-3))


def test_the_traffic_of_both_directions_is_counted_each_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = [each for each in played(*made(monkeypatch), 104.5) if each["what"] == "traffic"]
    assert [each["rx"] for each in said] == [7] * 5
    assert [round(each["tx"] / 1e6) for each in said] == [0, 1, 2, 3, 4]
