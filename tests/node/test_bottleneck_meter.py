"""The meter of a bottleneck on made-up counters."""

import pytest

from emulator.node.config import GatewayRole, MeasuredLink, Network, NodeConfig
from emulator.node.fidelity import bottleneck_meter
from emulator.node.fidelity.bottleneck_meter import BottleneckMeter
from emulator.node.fidelity.queue_counters import Queue
from emulator.world.emulated_clock import EmulatedClock


def test_the_rate_is_that_of_all_members_together(monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = [100.0], []

    class Kernel:
        def read(self) -> list[Queue]:
            sent = int((now[0] - 100) * 1e6)
            own = [Queue(7, "tbf", sent // 2, waiting=9), Queue(7, "htb", sent, waiting=9)]
            return [Queue(3, "htb", 5), *own]

    monkeypatch.setattr(bottleneck_meter, "QueueReader", Kernel)
    monkeypatch.setattr(bottleneck_meter.socket, "if_nametoindex", {"ifb-up": 7}.__getitem__)
    monkeypatch.setattr(EmulatedClock, "now", lambda self: now[0])
    measured = MeasuredLink({"up": {"rate": 8e6}, "down": {}})
    meter = BottleneckMeter(NodeConfig("street", 0, GatewayRole(), Network(measured=measured)))
    while not said:
        meter.tick(lambda what, **facts: said.append((what, facts)))
        rest = meter.rest()
        assert rest is not None
        now[0] += max(rest, 0.001)
    ((what, facts),) = said
    assert (what, facts["way"], facts["requested_rate"]) == ("link", "up", 8e6)
    assert facts["rate"] == pytest.approx(8e6, rel=1e-3)
    assert facts["busy"] > 1
