"""The pace of the host beside a run: it explains what it can cause, and nothing else."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest

from tests.containers import host_pace
from tests.containers.host_pace import (
    Pace,
    at_most_twice,
    await_calm,
    lateness,
    other_work,
    pace,
    stolen,
    tries,
    wait,
)


@pytest.mark.parametrize(
    "step, waited, slower, explained",
    [
        *((1.0, 1.0, 0.09, True), (1.0, 1.0, -0.09, True)),
        *((1.0, 1.0, 0.11, False), (1.0, 1.0, -0.11, False)),
        *((1.0, 1.3, 0.35, True), (1.0, 1.3, 0.45, False)),
        (1.0, 1.3, -0.11, False),  # other work on the host makes nothing faster
        *((1.2, 1.0, 0.3, True), (1.2, 1.0, -0.2, True), (1.2, 1.0, 0.35, False)),
    ],
)
def test_a_miss_is_explained_by_the_host_alone(
    step: float, waited: float, slower: float, explained: bool
) -> None:
    assert Pace(step, waited).explains(slower, 0.10) == explained


def test_the_pace_is_of_the_slowest_moment() -> None:
    result = {"step_before_s": 0.008, "step_meanwhile_s": 0.02, "step_after_s": 0.01}
    assert pace(result, 1.0, 1.5) == Pace(pytest.approx(1.25), 1.5)
    assert pace({}, 1.0) == Pace(1.0, 1.0)
    assert 1.0 <= wait() < 100


def test_what_another_machine_took_is_a_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the work was stolen on top."""
    with stolen() as factor:
        assert factor() >= 1.0
    ticks = iter([(1000, 50), (1100, 70)])
    monkeypatch.setattr(host_pace, "_processor_time", lambda: next(ticks))
    with stolen() as factor:
        assert factor() == pytest.approx(1.2)


def test_a_sleeper_tells_how_late_the_host_wakes_it() -> None:
    with lateness() as lost:
        time.sleep(0.3)
        assert 0.0 <= lost() < 1.0


@pytest.mark.parametrize(("share", "factor"), [(0.0, 1.0), (0.1, 1.25), (0.25, 2.0), (0.9, 2.0)])
def test_lost_time_excuses_twice_as_much_up_to_half(
    share: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    _late(monkeypatch, share)
    monkeypatch.setattr(host_pace, "PATIENCE", 0.0)
    assert [longer() for longer in tries(3)] == [pytest.approx(factor)] * 3


@pytest.mark.parametrize(("share", "seconds"), [(0.0, 1), (0.5, 60)])
def test_another_try_waits_for_a_calm_host(
    share: float, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(host_pace.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(host_pace.time, "sleep", slept.append)
    _late(monkeypatch, share)
    await_calm()
    assert sum(slept) == seconds


def _late(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    @contextmanager
    def late() -> Iterator[Callable[[], float]]:
        yield lambda: share

    monkeypatch.setattr(host_pace, "lateness", late)


@pytest.mark.parametrize("misses", [0, 1, 2])
def test_a_miss_is_played_again_once_and_never_left_out(misses: int) -> None:
    plays: list[int] = []

    def play() -> None:
        plays.append(1)
        assert len(plays) > misses

    if misses < 2:
        at_most_twice(play)
    else:
        with pytest.raises(AssertionError):
            at_most_twice(play)
    assert len(plays) == min(misses + 1, 2)


@pytest.mark.parametrize(
    ("before", "after", "taken", "excused"),
    [
        (True, True, 1.0, False),
        (False, True, 1.0, True),
        (True, False, 1.0, True),
        (True, True, 1.2, True),
    ],
)
def test_only_work_beside_a_run_excuses_it(
    monkeypatch: pytest.MonkeyPatch, before: bool, after: bool, taken: float, excused: bool
) -> None:
    looks = iter([before, after])
    monkeypatch.setattr(host_pace, "calm", lambda: next(looks))
    monkeypatch.setattr(host_pace, "stolen", lambda: nullcontext(lambda: taken))
    with other_work() as other:
        assert other() == excused
