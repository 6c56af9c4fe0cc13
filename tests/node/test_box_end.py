"""The node's end of a link through the box, with a box that only listens."""

from typing import Any

import pytest

from emulator.node.box_end import BoxEnd
from emulator.node.config import Boxed
from emulator.shaping.backend import Backend
from emulator.shaping.box import attachment
from emulator.shaping.dilated_link import dilated_side
from emulator.world import reshaping


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
