"""Every key of a link as a kernel with netem keeps it, by the command lines of the emulator."""

import json
import math
from itertools import groupby, pairwise
from pathlib import Path
from statistics import correlation, fmean, pstdev
from typing import Any, NamedTuple

import pytest

from emulator.world.links.delay_draws import moments
from tests.netem import key_guest, machine
from tests.netem.tries import Tries, tried_twice

pytestmark = [
    pytest.mark.netem,
    pytest.mark.skipif(bool(machine.lacking()), reason=machine.lacking()),
    pytest.mark.timeout(2500),  # two machines
]

SURE = 2.58
"""Standard deviations around the mean, between which 99 of 100 honest trials lie."""


class Sprayed(NamedTuple):
    """The datagrams of a spray."""

    sent: int
    arrived: list[int]
    """Their numbers in order of arrival."""
    took: dict[int, float]
    """Seconds on the way, by number."""

    @property
    def lost(self) -> list[bool]:
        return [number not in self.took for number in range(self.sent)]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Tries[dict[str, Any]]:
    return Tries(lambda: _booted(tmp_path_factory))


def _booted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    work: Path = tmp_path_factory.mktemp("keys")
    console = machine.boot("tests.netem.key_guest", work)
    lines = [line for line in console.splitlines() if line.startswith(key_guest.MARK)]
    assert lines, console
    result: dict[str, Any] = json.loads(lines[0].removeprefix(key_guest.MARK))
    return result


def _sprayed(measured: dict[str, Any], key: str) -> Sprayed:
    seen = measured[key]
    numbers = [int(number) for number, _ in seen]
    took = {int(number): took for number, took in reversed(seen)}
    return Sprayed(key_guest.SPRAYS[key][2], numbers, took)


def _is_share(seen: int, of: int, share: float) -> bool:
    """Return whether `seen` of `of` is in the 99 % interval of a binomial law with `share`."""
    return abs(seen - of * share) <= SURE * math.sqrt(of * share * (1 - share)) + 0.5


@tried_twice
def test_netem_keeps_every_key_but_the_correlation(measured: dict[str, Any]) -> None:
    assert measured["backend"]["delay"] == measured["backend"]["loss"] == "netem"


@tried_twice
def test_an_echo_takes_both_delays_within_a_millisecond(measured: dict[str, Any]) -> None:
    times = sorted(measured["echo"])
    print(f"min {times[0]:.5f} median {times[len(times) // 2]:.5f} max {times[-1]:.5f}")
    assert times[0] >= 2 * key_guest.ECHO.delay
    assert times[len(times) // 2] <= 2 * key_guest.ECHO.delay + 0.001


@pytest.mark.parametrize("key", ["loss", "corrupt"])
@tried_twice
def test_a_share_of_packets_does_not_arrive(measured: dict[str, Any], key: str) -> None:
    seen, side = _sprayed(measured, key), key_guest.SPRAYS[key][1]
    print(key, sum(seen.lost), "of", seen.sent)
    assert _is_share(sum(seen.lost), seen.sent, side.lost)


@tried_twice
def test_a_share_of_packets_arrives_twice(measured: dict[str, Any]) -> None:
    seen = _sprayed(measured, "duplicate")
    twice = len(seen.arrived) - len(set(seen.arrived))
    print(twice, "of", seen.sent)
    assert not any(seen.lost)
    assert _is_share(twice, seen.sent, key_guest.SPRAYS["duplicate"][1].duplicate)


@pytest.mark.parametrize("key", ["gemodel", "state"])
@tried_twice
def test_losses_come_in_bursts_of_the_models_length(measured: dict[str, Any], key: str) -> None:
    seen, model = _sprayed(measured, key), key_guest.SPRAYS[key][1].loss_model
    assert model is not None
    bursts = [len(list(run)) for lost, run in groupby(seen.lost) if lost]
    mean = sum(seen.lost) / seen.sent
    print(key, f"lost {mean:.4f} in {len(bursts)} bursts of {fmean(bursts):.3f}", model.chain.burst)
    assert fmean(bursts) == pytest.approx(model.chain.burst, rel=0.15)
    assert mean == pytest.approx(model.chain.mean, rel=0.2)


@tried_twice
def test_a_share_of_packets_passes_without_the_delay(measured: dict[str, Any]) -> None:
    seen, side = _sprayed(measured, "reorder"), key_guest.SPRAYS["reorder"][1]
    early = [number for number, took in seen.took.items() if took < side.delay / 2]
    overtaken = sum(after < before for before, after in pairwise(seen.arrived))
    print(len(early), "of", seen.sent, "overtook,", overtaken, "times backwards")
    assert _is_share(len(early), seen.sent, side.reorder)
    assert overtaken >= len(early) / 2


@tried_twice
def test_only_each_fifth_packet_passes_with_a_gap_of_five(measured: dict[str, Any]) -> None:
    seen, side = _sprayed(measured, "gap"), key_guest.SPRAYS["gap"][1]
    early = sorted(number for number, took in seen.took.items() if took < side.delay / 2)
    steps = [after - before for before, after in pairwise(early)]
    # netem counts a packet of another kind, as a question for an address, too
    assert set(steps) <= {side.gap - 1, side.gap} and steps.count(side.gap - 1) <= 2


@pytest.mark.parametrize("key", ["normal", "uniform", "pareto", "paretonormal"])
@tried_twice
def test_a_distribution_has_its_deviation(measured: dict[str, Any], key: str) -> None:
    seen, side = _sprayed(measured, key), key_guest.SPRAYS[key][1]
    mean, deviation = moments(side.distribution)
    times = list(seen.took.values())
    print(key, f"mean {fmean(times):.5f} deviation {pstdev(times):.5f} of {side.jitter}")
    assert pstdev(times) == pytest.approx(side.jitter * deviation, rel=0.15)
    assert fmean(times) == pytest.approx(side.delay + side.jitter * mean, abs=0.0007)
    assert seen.arrived == sorted(seen.arrived)


@tried_twice
def test_no_correlation_of_netem_is_seen(measured: dict[str, Any]) -> None:
    """If this fails, netem keeps the key: `backend.choose` may let it serve."""
    seen = _sprayed(measured, "correlation")
    times = [took for _, took in sorted(seen.took.items())]
    found = correlation(times[:-1], times[1:])
    print(f"{found:.3f} of {key_guest.SPRAYS['correlation'][1].correlation}")
    assert abs(found) < 0.2


@tried_twice
def test_a_limit_counts_the_packets_under_way(measured: dict[str, Any]) -> None:
    """The kernel's own packets may take two places, and a later datagram a place that such a packet
    has left."""
    seen, limit = _sprayed(measured, "limit"), key_guest.SPRAYS["limit"][1].limit
    assert limit is not None
    assert limit - 2 <= len(seen.arrived) <= limit
    assert seen.arrived[: limit - 2] == list(range(limit - 2))
    assert seen.arrived == sorted(seen.arrived)


@pytest.mark.parametrize("way", key_guest.WAYS)
@tried_twice
def test_each_frame_costs_its_overhead(measured: dict[str, Any], way: str) -> None:
    """Of the second message: the first one pays for TCP's slow start."""
    (_, first), (_, second) = measured["rates"][way]
    wanted = key_guest.OVERHEAD.transfer(key_guest.BULK) - key_guest.OVERHEAD.delay
    print(f"{way}: {wanted / (second - first):.4f} of the rate less headers and overhead")
    assert second - first == pytest.approx(wanted, rel=0.03)
