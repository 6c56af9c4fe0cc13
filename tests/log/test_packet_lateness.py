"""The verdict on the box that delays packets, from the lateness of each second."""

from typing import Any

import pytest

from emulator.log.records import LatenessRecord
from emulator.log.verdicts.packet_lateness import LatenessSums, Shaped

PACKETS = Shaped("packets", 0.025)


def sums(*p50: float, packets: int = 9, tail: float = 2.0) -> LatenessSums:
    found = LatenessSums()
    for at, late in enumerate(p50):
        found.take(LatenessRecord(at, packets, late, tail * late, 2 * tail * late, 0.01))
    return found


@pytest.mark.parametrize(("shortest", "bound"), [(0.0, 2e-3), (0.04, 2e-3), (0.3, 0.015)])
def test_the_bound_is_two_milliseconds_or_a_twentieth_of_the_delay(
    shortest: float, bound: float
) -> None:
    shaped = Shaped("packets", shortest)
    assert shaped.bound == pytest.approx(bound)
    assert not sums(*[0.99 * bound] * 20).late(shaped)
    assert sums(*[1.01 * bound] * 20).late(shaped)
    assert not sums(*[0.5 * bound] * 20, tail=9.9).late(shaped)
    assert sums(*[0.5 * bound] * 20, tail=10.1).late(shaped)


@pytest.mark.parametrize(("seconds", "late"), [(5, False), (6, True)])
def test_one_second_in_twenty_may_be_late(seconds: int, late: bool) -> None:
    found = sums(*[0.05] * seconds, *[0.001] * (100 - seconds))
    assert found.late(PACKETS) is late
    assert found.plain(PACKETS) == {
        "backend": "packets",
        "p50": 0.05 if late else 0.001,
        "p99": 0.1 if late else 0.002,
        "max": 0.2,
        "bound": 0.002,
        "late": late,
    }
    words = "50.0 ms late or later, and one in a hundred 100.0 ms"
    assert (words in found.reason(PACKETS)) is late


@pytest.mark.parametrize("backend", ["netem", "packets", "receiver"])
def test_without_packets_only_the_backend_is_known(backend: Any) -> None:
    assert LatenessSums().plain(Shaped(backend)) == {"backend": backend}
    assert sums(0.5, packets=0).plain(Shaped(backend)) == {"backend": backend}
    assert not LatenessSums().reason(Shaped(backend))


def test_a_stop_of_several_seconds_counts_as_many() -> None:
    """Of 20 records one is of a box that was stopped for 3 s: 3 of 22 seconds were late."""
    found = LatenessSums()
    for at in [*range(1, 20), 22]:
        late = 2.9 if at == 22 else 1e-4
        found.take(LatenessRecord(at / 4, 9, late, late, late, 0.01))  # at a dilation of 4
    assert found.late(PACKETS)


def test_dropped_packets_are_counted() -> None:
    found = LatenessSums()
    for at, dropped in enumerate((0, 3, 4)):
        found.take(LatenessRecord(at, 9, 1e-4, 1e-4, 1e-4, 0.01, dropped))
    assert found.plain(PACKETS)["dropped"] == 7
