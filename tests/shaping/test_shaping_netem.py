"""The same commands on a kernel that has netem, booted for the purpose."""

import json
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from emulator.world.links.link import Side
from tests.netem import guest, machine
from tests.netem.tries import Tries, tried_twice

pytestmark = [
    pytest.mark.netem,
    pytest.mark.skipif(bool(machine.lacking()), reason=machine.lacking()),
    pytest.mark.timeout(2500),  # two machines
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Tries[dict[str, Any]]:
    return Tries(lambda: _booted(tmp_path_factory))


def _booted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    work: Path = tmp_path_factory.mktemp("netem")
    console = machine.boot("tests.netem.guest", work)
    lines = [line for line in console.splitlines() if line.startswith(guest.MARK)]
    assert lines, console
    result: dict[str, Any] = json.loads(lines[0].removeprefix(guest.MARK))
    return result


@tried_twice
def test_the_probe_finds_everything_and_netem_serves(measured: dict[str, Any]) -> None:
    assert all(measured["features"].values()), measured["features"]
    assert measured["backend"]["delay"] == measured["backend"]["loss"] == "netem"


@tried_twice
def test_a_round_trip_takes_both_delays(measured: dict[str, Any]) -> None:
    delay = guest.DELAY.delay
    times = sorted(measured["rtt"])
    print(f"min {times[0]:.4f} median {times[len(times) // 2]:.4f} max {times[-1]:.4f}")
    assert 2 * delay <= times[0]
    assert times[len(times) // 2] <= 2 * delay + 0.015


@tried_twice
def test_jitter_has_the_deviation_asked_for(measured: dict[str, Any]) -> None:
    times = measured["jittered"]
    print(f"mean {fmean(times):.4f} deviation {stdev(times):.4f}")
    assert fmean(times) == pytest.approx(guest.JITTER.delay, abs=0.003)
    assert stdev(times) == pytest.approx(guest.JITTER.jitter, rel=0.25)


@tried_twice
def test_jitter_lets_none_overtake(measured: dict[str, Any]) -> None:
    """Arrivals are known to the accuracy of the sender's timer."""
    times = measured["ordered"]
    arrived = [number * guest.STEP + took for number, took in enumerate(times)]
    back = [before - after for before, after in pairwise(arrived)]
    print(f"furthest back {max(back):.4f}, jitter seen {stdev(times):.4f}")
    assert max(back) < guest.JITTER.jitter


@pytest.mark.parametrize("way", guest.WAYS)
@tried_twice
def test_goodput_is_the_rate_less_the_headers(measured: dict[str, Any], way: str) -> None:
    """Of the second message: the first one pays for TCP's slow start."""
    (_, first), (_, second) = measured["streams"][way]
    wanted = Side(guest.RATE.rate).transfer(guest.BULK)
    print(f"{way}: {wanted / (second - first):.4f} of 0.9564 rate")
    assert second - first == pytest.approx(wanted, rel=0.03)


@pytest.mark.parametrize("way", guest.WAYS)
@tried_twice
def test_loss_is_what_was_asked(measured: dict[str, Any], way: str) -> None:
    """Outside the bounds once in a hundred; twice in a row is a fault."""
    print(way, measured["lost"][way])
    assert guest.LEAST_LOST <= measured["lost"][way][-1] <= guest.MOST_LOST


@pytest.mark.parametrize("cut", ["netem", "nftables"])
@tried_twice
def test_a_cut_stops_everything_and_connections_outlive_it(
    measured: dict[str, Any], cut: str
) -> None:
    seen = measured["cuts"][cut]
    for received in seen["received"]:
        assert len(received) == 50
        assert not [at for at in received if seen["cut"] + 0.1 < at < seen["mended"]]
        assert min(received) < seen["cut"]


@pytest.mark.parametrize("cut", ["netem", "nftables"])
@tried_twice
def test_tcp_counts_as_sent_what_it_sends_into_a_cut(measured: dict[str, Any], cut: str) -> None:
    assert measured["again"][cut] > 0
