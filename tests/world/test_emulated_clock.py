"""The emulated clock, and the pace of work, on a host's clock that stands still in between."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.world import emulated_clock
from emulator.world.emulated_clock import UNDILATED, EmulatedClock, WorkPace


class Host:
    """A host's clock, and a process on it that works and waits."""

    def __init__(self) -> None:
        self.now, self.spent, self.slept = 1000.0, 5.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def work(self, seconds: float, waited: float = 0.0) -> None:
        """Take `seconds` of a core, and wait for the quota in between."""
        self.now += seconds + waited
        self.spent += seconds


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    host = Host()
    monkeypatch.setattr(emulated_clock, "time", host)
    yield host


@given(st.floats(1, 1000), st.floats(0, 1e6))
def test_real_and_emulated_seconds_are_each_others_inverse(dilation: float, time: float) -> None:
    clock = EmulatedClock(dilation)
    assert clock.emulated(clock.real(time)) == pytest.approx(time)
    assert clock.real(time) >= time


def test_an_emulated_second_takes_k_seconds(host: Host) -> None:
    clock = EmulatedClock(4)
    began = clock.now()
    clock.sleep(2.5)
    assert clock.now() - began == 2.5
    assert host.slept == [10.0]
    assert clock.emulated(host.now) == clock.now()


def test_without_a_dilation_the_clock_is_the_hosts(host: Host) -> None:
    assert UNDILATED.now() == 1000.0 and UNDILATED.real(0.1) == 0.1


def test_work_takes_as_long_in_the_emulated_world_as_on_a_core(host: Host) -> None:
    clock = EmulatedClock(4)
    pace, began = WorkPace(clock, lambda: host.spent), clock.now()
    host.work(0.5)
    pace.rest()
    assert host.slept == [1.5] and clock.now() - began == 0.5
    host.now += 7.0  # a wait for a message
    pace.begin()
    host.work(0.1)
    pace.rest()
    assert host.slept[1:] == [pytest.approx(0.3)]


def test_a_wait_for_the_quota_is_rest_already(host: Host) -> None:
    pace = WorkPace(EmulatedClock(4), lambda: host.spent)
    host.work(0.5, waited=1.2)
    pace.rest()
    host.work(0.5, waited=9.0)
    pace.rest()
    assert host.slept == [pytest.approx(0.3), 0.0]


def test_without_a_dilation_nothing_rests(host: Host) -> None:
    pace = WorkPace(UNDILATED, lambda: host.spent)
    host.work(0.5)
    pace.rest()
    assert host.slept == []
