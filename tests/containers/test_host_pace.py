"""The pace of the host beside a run: it explains what it can cause, and nothing else."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest

from tests.containers import host_pace
from tests.containers.host_pace import (
    Pace,
    await_calm,
    judged,
    judged_each,
    lateness,
    other_work,
    pace,
    stolen,
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
    told: list[float] = []

    def bound(_found: int, longer: float) -> bool:
        told.append(longer)
        return True

    judged(lambda: 7, bound)
    assert told == [pytest.approx(factor)]


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


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The waits for a calm host; the host loses nothing."""
    waits: list[str] = []
    monkeypatch.setattr(host_pace, "await_calm", lambda: waits.append("calm"))
    _late(monkeypatch, 0.0)
    return waits


@pytest.mark.parametrize("misses", [0, 1, 2])
def test_a_miss_is_tried_again_once_and_never_left_out(waits: list[str], misses: int) -> None:
    plays = iter(range(10))

    def bound(found: int, _longer: float) -> bool:
        return found >= misses

    if misses < 2:
        assert judged(lambda: next(plays), bound) == misses
    else:
        with pytest.raises(AssertionError, match="missed 2 times in a row"):
            judged(lambda: next(plays), bound)
    assert next(plays) == min(misses + 1, 2)
    assert waits == ["calm"] * min(misses, 1)


def test_each_try_is_printed_and_named_by_the_failure(
    waits: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _late(monkeypatch, 0.1)
    plays = iter([0.7, 0.8, 0.9, 0.6, 0.5])
    judged(lambda: next(plays), lambda found, longer: found * longer > 0.95)
    assert capsys.readouterr().out.splitlines() == [
        "try 1 missed, 1.250 times as long by the host: 0.7",
        "try 2 kept, 1.250 times as long by the host: 0.8",
    ]
    with pytest.raises(AssertionError) as missed:
        judged(lambda: next(plays), lambda found, _: found > 1, tries=3)
    said = capsys.readouterr().out.splitlines()
    assert str(missed.value).splitlines() == ["missed 3 times in a row", *said]
    assert [line.split()[-1] for line in said] == ["0.9", "0.6", "0.5"]


def test_a_fact_that_no_host_excuses_is_not_tried_again(waits: list[str]) -> None:
    plays: list[int] = []

    def play() -> int:
        plays.append(1)
        assert len(plays) == 2, "too fast"
        return len(plays)

    with pytest.raises(AssertionError, match="too fast"):
        judged(play, lambda *_: True)
    assert (len(plays), waits) == (1, [])


def test_only_cases_that_missed_are_tried_again(
    waits: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    plays: list[list[str]] = []

    def play(cases: list[str]) -> list[str]:
        plays.append(cases)
        return [f"{case}{len(plays)}" for case in cases]

    assert judged_each(play, "abc", lambda found, _: found != "b1") == ["a1", "b2", "c1"]
    assert (plays, waits) == ([["a", "b", "c"], ["b"]], ["calm"])
    verdicts = [line.split()[2].rstrip(",") for line in capsys.readouterr().out.splitlines()]
    assert verdicts == ["kept", "missed", "kept", "kept"]
    with pytest.raises(AssertionError, match=r"try 1 .*: a3\n.*b3\n.*c3\ntry 2 .*b4$"):
        judged_each(play, "abc", lambda found, _: "b" not in found)


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
