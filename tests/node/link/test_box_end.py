"""The node's end of a link through the box, with a box that listens, and with a direction of it."""

from random import Random
from typing import Any

import pytest

from emulator.node.config import Boxed
from emulator.node.fidelity.rate_meter import RateMeter
from emulator.node.link.box_end import BoxEnd
from emulator.shaping.backend import Backend
from emulator.shaping.box import attachment
from emulator.shaping.box.direction import Direction
from emulator.shaping.playable_link import dilated_side
from emulator.world.links import reshaping
from emulator.world.links.link import Link, Side
from tests.node.link.rated_sides import RATE, RATED

IPV4_FRAME = bytes(10 + 12) + b"\x08\x00" + bytes(1500)


def test_a_dilated_run_gives_the_box_its_link_in_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    link = {"up": {"rate": 8e6, "delay": 0.02}, "down": {}}
    backend = Backend(rate="tbf", delay="packets")
    told: list[Any] = []
    monkeypatch.setattr(attachment, "connect", lambda path: None)
    monkeypatch.setattr(attachment, "attach", lambda *of, **more: told.extend([of, more]))
    BoxEnd("far", Boxed(link, backend.plain(), [link["up"]], dilation=4.0)).attach()
    slow = dilated_side(reshaping.read_side(link["up"]), 4.0)
    assert told[0][2].up == slow and told[1]["beyond"] == [slow]
    # what the box itself is told has netem's keys alone
    assert reshaping.read_side(reshaping.plain_side(slow)).rate == 2e6


@pytest.mark.parametrize("mechanism", ["tbf", "box"])
@pytest.mark.parametrize("side", RATED.values(), ids=RATED)
def test_a_rate_that_the_box_shapes_is_judged_with_every_key(
    monkeypatch: pytest.MonkeyPatch, side: Side, mechanism: str
) -> None:
    """The meter finds the requested rate of a flooded link; a rate of tbf is not the box's."""
    side = Side(**{**vars(side), "rate": RATE})
    direction = Direction(side, lambda use: Random(use), rates=mechanism == "box")
    link, now = Link(up=side), 1.0
    monkeypatch.setattr(attachment, "connect", lambda path: None)
    monkeypatch.setattr(attachment, "attach", lambda *of, **more: None)
    monkeypatch.setattr(attachment, "report", lambda *of: {"up": direction.report(now)})
    end = BoxEnd("far", Boxed(reshaping.plain(link), Backend(mechanism, "packets").plain()))
    end.attach()
    if mechanism == "tbf" and not (side.duplicate or side.limit):
        assert end.queues() == {}
        return
    meter = RateMeter()
    for step in range(8000):  # 12 mbit for 8 s
        now = 1.0 + 1e-3 * step
        direction.take(IPV4_FRAME, now)
        direction.release(now)
        if now >= meter.due:
            meter.look(now, end.queues()["up"], float(RATE))
    meter.look(now, None, None)
    busy = meter.take()
    if side.limit == 1:  # nothing waits beside the packet under way
        assert busy.seconds == 0
    else:
        assert busy.seconds > 0.9
        assert busy.bits / busy.requested == pytest.approx(1, abs=0.01)


def test_a_box_that_does_not_answer_has_no_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    link = Link(up=Side(RATE, limit=9), down=Side(RATE))
    monkeypatch.setattr(attachment, "connect", lambda path: None)
    monkeypatch.setattr(attachment, "attach", lambda *of, **more: None)
    end = BoxEnd("far", Boxed(reshaping.plain(link), Backend("tbf", "packets").plain()))
    end.attach()
    for answer in ({}, {"up": {"packets": 9}}):
        monkeypatch.setattr(attachment, "report", lambda *of, told=answer: told)
        assert end.queues() == {}
