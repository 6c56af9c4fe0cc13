"""The packet box beside netem on the same kernel, booted for the purpose."""

import json
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import pytest

from tests.netem import box_guest, machine
from tests.netem.tries import Tries, tried_twice

pytestmark = [
    pytest.mark.netem,
    pytest.mark.skipif(bool(machine.lacking()), reason=machine.lacking()),
    pytest.mark.timeout(2500),  # two machines
]
MEANS = ("netem", "box")
BOTH = pytest.mark.parametrize("means", MEANS)
BOUNDS = {1500: (50, 102)}
"""Of so many packets at 5 %, 99 in 100 honest trials draw so many."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Tries[dict[str, Any]]:
    return Tries(lambda: _booted(tmp_path_factory))


def _booted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    work: Path = tmp_path_factory.mktemp("box")
    console = machine.boot("tests.netem.box_guest", work)
    lines = [line for line in console.splitlines() if line.startswith(box_guest.MARK)]
    result: dict[str, Any] = {means: {} for means in MEANS}
    for means, key, value in (json.loads(line.removeprefix(box_guest.MARK)) for line in lines):
        result[means][key] = value
    assert all(result[means].keys() >= box_guest.SPRAYS.keys() for means in MEANS), console
    return result


def _numbers(seen: dict[str, Any], means: str, key: str) -> list[int]:
    """Return the numbers of the datagrams of a case, in order of arrival."""
    return [int(number) for number, _ in seen[means][key]]


@BOTH
@tried_twice
def test_a_round_trip_takes_both_delays(seen: dict[str, Any], means: str) -> None:
    times = [each for each in seen[means]["echo"] if each is not None]
    print(f"{means}: {min(times):.5f} {median(times):.5f} {max(times):.5f}")
    assert len(times) == 100
    assert min(times) >= 0.04
    assert median(times) < 0.042


@BOTH
@pytest.mark.parametrize("key", ["loss", "corrupt"])
@tried_twice
def test_packets_are_lost_as_asked(seen: dict[str, Any], means: str, key: str) -> None:
    _, count, _ = box_guest.SPRAYS[key]
    lost = count - len(set(_numbers(seen, means, key)))
    least, most = BOUNDS[count]
    print(f"{means}: {key} {lost} of {count}")
    assert least <= lost <= most


@BOTH
@tried_twice
def test_losses_come_in_bursts(seen: dict[str, Any], means: str) -> None:
    numbers = _numbers(seen, means, "gemodel")
    bursts = [after - before - 1 for before, after in pairwise(numbers) if after > before + 1]
    share = 1 - len(numbers) / box_guest.SPRAYS["gemodel"][1]
    chain = box_guest.GEMODEL.chain
    print(f"{means}: bursts of {fmean(bursts):.2f} for {chain.burst:.2f}, {share:.3f} lost")
    assert fmean(bursts) == pytest.approx(chain.burst, rel=0.3)
    assert share == pytest.approx(chain.mean, rel=0.3)


@BOTH
@tried_twice
def test_packets_are_duplicated_as_asked(seen: dict[str, Any], means: str) -> None:
    numbers = _numbers(seen, means, "duplicate")
    twice = len(numbers) - len(set(numbers))
    least, most = BOUNDS[1500]
    print(f"{means}: {twice} twice")
    assert least <= twice <= most
    assert len(set(numbers)) == 1500


@BOTH
@tried_twice
def test_a_duplicate_passes_the_rate(seen: dict[str, Any], means: str) -> None:
    _, count, gap = box_guest.SPRAYS["doubled"]
    arrivals = [number * gap + took for number, took in seen[means]["doubled"]]
    print(f"{means}: {max(arrivals) - min(arrivals):.4f} s")
    assert len(arrivals) == 2 * count
    assert max(arrivals) - min(arrivals) == pytest.approx(2 * count * 1042 * 8 / 2e6, rel=0.1)


@BOTH
@tried_twice
def test_packets_overtake_others_as_asked(seen: dict[str, Any], means: str) -> None:
    """Each packet that overtakes others takes no delay."""
    early = [took for _, took in seen[means]["reorder"] if took < 0.025]
    print(f"{means}: {len(early)} of 1500 early")
    assert len(early) == pytest.approx(300, abs=40)  # 99 in 100 honest trials


@BOTH
@tried_twice
def test_jitter_has_the_deviation_asked_for(seen: dict[str, Any], means: str) -> None:
    times = [took for _, took in seen[means]["jitter"]]
    print(f"{means}: mean {fmean(times):.5f} deviation {stdev(times):.5f}")
    assert fmean(times) == pytest.approx(0.05, abs=0.001)
    assert stdev(times) == pytest.approx(0.005, rel=0.1)
    numbers = _numbers(seen, means, "jitter")
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("key", box_guest.TRANSFERS)
@tried_twice
def test_a_new_connection_takes_netem_s_time(seen: dict[str, Any], key: str) -> None:
    netem, box = (seen[means][key] for means in MEANS)
    print(f"{key}: netem {netem:.4f} box {box:.4f} {box / netem - 1:+.2%}")
    assert box == pytest.approx(netem, rel=0.02)
