"""The loop of the box tells frames that waited for a box without a core from frames that came."""

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from emulator.shaping.box import frame_loop
from emulator.shaping.box.frame_loop import PULSE, FrameLoop
from emulator.shaping.box.output_lines import BIN, Lateness


class _Lane:
    """A lane whose frames are the bytes of a pipe."""

    due = None

    def __init__(self, source: int) -> None:
        self.source, self.direction = source, self
        self.lateness = Lateness()

    def fill(self, most: int, waited: float = 0.0) -> None:
        for _ in os.read(self.source, most):
            self.lateness.add(waited)

    def in_order(self) -> bool:
        return True

    def deadline(self) -> None:
        return None


class _Link:
    def __init__(self, lane: _Lane, watch: int) -> None:
        self.lanes, self.watch = (lane,), watch


@pytest.fixture
def box() -> Iterator[tuple[FrameLoop, _Lane, int]]:
    ends = [*os.pipe(), *os.pipe()]
    loop, lane = FrameLoop(time.monotonic, lambda link: None), _Lane(ends[0])
    link: Any = _Link(lane, ends[2])
    loop.carry(link)
    yield loop, lane, ends[1]
    loop.close()
    for end in ends:
        os.close(end)


def _carry(loop: FrameLoop, frames: int, end: int) -> None:
    for _ in range(frames):
        os.write(end, b"x")
        loop.round(time.monotonic() + 1.0)


def test_a_box_that_is_stopped_for_a_fifth_of_each_second_says_so(
    box: tuple[FrameLoop, _Lane, int],
) -> None:
    loop, lane, end = box
    _carry(loop, 50, end)
    before = lane.lateness.summary()
    time.sleep(0.2)  # stopped
    os.write(end, b"x" * 12)
    loop.round(time.monotonic() + 1.0)
    _carry(loop, 38, end)
    summary = lane.lateness.summary()
    assert before["p50"] <= BIN and summary["p50"] <= BIN
    assert summary["packets"] == 50
    assert summary["p99"] >= 0.2 and summary["max"] >= 0.2


def test_frames_after_a_rest_are_not_late(box: tuple[FrameLoop, _Lane, int]) -> None:
    """A box with little to carry looks often enough to know that it was awake."""
    loop, lane, end = box
    _carry(loop, 1, end)
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        begun = time.monotonic()
        loop.round(until)
        waited = time.monotonic() - begun
    assert waited < 20 * PULSE  # a busy host may stretch a single look
    _carry(loop, 1, end)
    assert lane.lateness.summary()["p50"] <= BIN


@pytest.mark.parametrize("number", range(40))
def test_a_rest_is_no_lateness_wherever_the_loop_is_as_it_begins(
    box: tuple[FrameLoop, _Lane, int], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """On a clock that goes on with every look at it, and while the box sleeps."""
    loop, lane, end = box
    now, step, waited = [0.0], 2e-4 + number * 1e-5, list[float]()

    def clock() -> float:
        now[0] += step
        return now[0]

    def sleep(*waiting: Any) -> None:
        now[0] = min(now[0] + waiting[-1], max(now[0], 5.0))
        if now[0] == 5.0:
            os.write(end, b"x")

    monkeypatch.setattr(loop, "_clock", clock)
    monkeypatch.setattr(lane.lateness, "add", waited.append)
    os.write(end, b"x")
    loop.round(10.0)
    monkeypatch.setattr(frame_loop.select, "select", sleep)
    while len(waited) < 2:
        loop.round(10.0)
    assert waited == [0.0, 0.0]
