"""Each key of a link, judged by the packets at both ends of the link, in one run.

A bound on a share of n packets is five standard deviations, so an honest run fails once in a
million.
"""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Sequence

import pytest

from emulator.runtimes.docker.engine import probing
from emulator.runtimes.docker.images import node_image
from tests.containers.conftest import left
from tests.containers.links.captured_play import Captured, play_captured
from tests.cover.link_fleet import FILES, TEXT, TRACED
from tests.netem.captured import FULL, Frame, median_rate, pairs

pytestmark = [pytest.mark.docker, pytest.mark.timed, pytest.mark.timeout(200)]

SIGMAS = 5
RATE = 0.03
"""Most difference of a rate, by share."""
TICK = 1.5e-3
"""Seconds by which a packet may be later than planned, as fidelity allows in the mean."""
APART = 0.03
"""Seconds between two packets that do not wait for one another."""
MARGIN = 0.7
"""Seconds at both ends of a rate's span that are not looked at."""


@pytest.fixture(scope="module")
def run(client, tmp_path_factory) -> Captured:
    features = probing.probe(client, node_image.require(client).id)
    if features.netem or not features.tun:
        pytest.skip("with the box alone, packets are seen between the rate and the delay")
    folder = tmp_path_factory.mktemp("links")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    played = play_captured(client, folder, TEXT)
    assert not left(client, folder)
    return played


def inside(run: Captured, frames: Sequence[Frame]) -> list[Frame]:
    """Return those of the `frames` that were seen while all captures ran."""
    begin = max(own[0].at for own in run.frames.values()) + MARGIN
    end = min(own[-1].at for own in run.frames.values()) - MARGIN
    return [frame for frame in frames if begin < frame.at < end]


def sent_and_came(run: Captured, name: str, way: str) -> tuple[list[Frame], list[Frame]]:
    """Return the frames of a device that entered the box while all captures ran, and all came."""
    sent, came = run.ends(name, way)
    return inside(run, sent), came


def arrived(sent: Sequence[Frame], came: Sequence[Frame]) -> list[bool]:
    """Return for each of the `sent` frames, by time, whether it came."""
    arrivals = Counter(frame.key for frame in came)
    return [arrivals[frame.key] > 0 for frame in sent]


def near(share: float, expected: float, number: float, variance: float | None = None) -> bool:
    """Return whether a share of `number` packets may be `expected` by chance."""
    variance = expected * (1 - expected) if variance is None else variance
    print(f"{share:.4f}, expected {expected:.4f} of {number:.0f}")
    return abs(share - expected) < SIGMAS * math.sqrt(variance / number)


def test_losses_come_in_bursts(run: Captured) -> None:
    p, r = 0.01, 0.25
    lost = [not there for there in arrived(*sent_and_came(run, "burst", "up"))]
    share, bursts = (
        p / (p + r),
        [len([*own]) for is_lost, own in itertools.groupby(lost) if is_lost],
    )
    correlation = 1 - p - r
    widened = share * (1 - share) * (1 + correlation) / (1 - correlation)
    assert near(sum(lost) / len(lost), share, len(lost), widened)
    assert near(statistics.fmean(bursts), 1 / r, len(bursts), (1 - r) / r**2)


def test_a_share_of_the_packets_comes_twice(run: Captured) -> None:
    sent, came = sent_and_came(run, "twice", "up")
    arrivals = Counter(frame.key for frame in came)
    times = [arrivals[frame.key] for frame in sent]
    assert set(times) == {1, 2}
    assert near(times.count(2) / len(times), 0.1, len(times))


def test_a_share_of_the_packets_has_a_wrong_bit(run: Captured) -> None:
    """The receiver discards them, so their bytes are sent again, as a new packet."""
    sent, came = sent_and_came(run, "wrong", "up")
    data = [frame for frame in sent if frame.size > 100]
    sequences = Counter(frame.key[-4:] for frame in data)
    again = sum(number - 1 for number in sequences.values()) / len(data)
    print(f"{again:.4f} of {len(data)} packets with data are sent again")
    assert sum(arrived(data, came)) / len(data) > 0.99  # where the wrong bit is in no header
    assert 0.03 - SIGMAS * math.sqrt(0.03 / len(data)) < again < 0.09


def test_a_share_of_the_packets_overtakes_others(run: Captured) -> None:
    """With a gap of 4 and a share of 40 %, one of 3 + 1 / 0.4 packets passes without the delay."""
    delays, _ = pairs(*sent_and_came(run, "overtaken", "down"))
    fast = [place for place, delay in enumerate(delays) if delay < 0.02]
    assert near(len(fast) / len(delays), 1 / (3 + 1 / 0.4), len(delays))
    assert min(b - a for a, b in itertools.pairwise(fast)) >= 4
    assert statistics.median(delays) == pytest.approx(0.04, abs=TICK)


def test_a_full_direction_drops_packets(run: Captured) -> None:
    """Ten packets of 12 kbit take at most 60 ms by 2 mbit, and those beyond are dropped."""
    sent, _ = sent_and_came(run, "short", "up")
    came = run.within("short", "wire", True, run.addresses["server"])
    delays, lost = pairs(sent, came)
    usual = sorted(delays)[-len(delays) // 50]  # the host may let a few wait for longer
    print(f"{usual:.4f} s, {max(delays):.4f} s at most, {lost} of {len(sent)} lost")
    assert 8 * 8 * FULL / 2e6 < usual < 11 * 8 * FULL / 2e6 + 0.01
    assert lost > 0


def test_a_rate_is_charged_for_the_overhead(run: Captured) -> None:
    found = median_rate(run.ends("framed", "up")[1], 2e6)
    assert found == pytest.approx(2e6 * FULL / (FULL + 200), rel=RATE)


def apart(run: Captured, name: str) -> list[list[float]]:
    """Return the delays of packets that follow one another at a distance, as acknowledgements of a
    slow pull do: packets of a burst would wait for one another, as none overtakes another."""
    sent, came = sent_and_came(run, name, "up")
    arrivals = {frame.key: frame.at for frame in came}
    rows: list[list[float]] = [[]]
    for before, frame in itertools.pairwise(sent):
        if frame.at - before.at > APART and frame.key in arrivals:
            rows[-1].append(arrivals[frame.key] - frame.at)
        elif rows[-1]:
            rows.append([])
    return rows


@pytest.mark.parametrize(
    ("name", "deviation"), [("uniform", 12e-3 / math.sqrt(3)), ("normal", 10e-3)]
)
def test_a_jitter_has_its_distribution(run: Captured, name: str, deviation: float) -> None:
    """Beside a link of the same delay without jitter, whose packets the host makes later alone."""
    delays, steady = ([d for row in apart(run, one) for d in row] for one in (name, "steady"))
    found, by_host = statistics.pstdev(delays), statistics.pstdev(steady)
    late, most_late = statistics.fmean(steady) - 0.06, latest(steady) - 0.06
    print(f"{len(delays)} packets: {statistics.fmean(delays):.4f} s, {found:.4f} s")
    print(f"{len(steady)} without jitter: {late:.4f} s late, {by_host:.4f} s, {most_late:.4f} s")
    chance = SIGMAS * deviation / math.sqrt(2 * len(delays))
    assert found == pytest.approx(math.hypot(deviation, by_host), abs=chance + by_host / 2)
    assert late > -TICK and statistics.fmean(delays) == pytest.approx(0.06 + late, abs=TICK)
    if name == "uniform":
        assert min(delays) > 0.048 - TICK
        assert latest(delays) < 0.072 + 2 * TICK + most_late


def latest(delays: Sequence[float]) -> float:
    """Return the delay that one packet of fifty exceeds."""
    return sorted(delays)[-len(delays) // 50]


def test_a_correlated_jitter_resembles_that_of_the_packet_before(run: Captured) -> None:
    def correlation(name: str) -> float:
        neighbours = [pair for row in apart(run, name) for pair in itertools.pairwise(row)]
        assert len(neighbours) > 100
        return statistics.correlation(*zip(*neighbours, strict=True))

    alone, together = correlation("normal"), correlation("together")
    # what the host adds is not correlated, and counts in the deviation
    by_host = statistics.pstdev(d for row in apart(run, "steady") for d in row)
    clear = 10e-3**2 / (10e-3**2 + by_host**2)
    print(f"{alone:.3f} without, {together:.3f} with a correlation of 80 %, {clear:.3f} clear")
    assert together > 0.6 * clear and alone < 0.4


@pytest.mark.parametrize("name", TRACED)
def test_a_trace_file_is_played_as_written(run: Captured, name: str) -> None:
    frames = run.rated(name, "down")
    looked_at = 0
    for begin, end, rate in TRACED[name]:
        last = min(end, frames[-1].at - run.zero) - MARGIN
        if last > max(begin, 0) + 2 * MARGIN:
            span = [f for f in frames if max(begin, 0) + MARGIN < f.at - run.zero < last]
            found = median_rate(span, rate)
            print(f"{begin:.1f} to {end:.1f} s: {found / 1e6:.3f} mbit of {rate / 1e6}")
            assert found == pytest.approx(rate, rel=RATE)
            looked_at += 1
    assert looked_at >= 2


def test_a_message_waits_for_its_setup(run: Captured) -> None:
    """The server holds a push back from its last packet on: the line was idle before."""
    came = [frame.at for frame in run.ends("waiting", "up")[1] if frame.size > 100]
    pushes = [
        run.zero + record["at"]
        for record in run.records
        if record["what"] == "update" and record["node"] == "waiting"
    ]
    held = [at - max(each for each in came if each < at) for at in pushes if at > came[0]]
    print(len(held), min(held), statistics.median(held))
    assert min(held) > 0.1 - TICK
    assert statistics.median(held) < 0.1 + 10 * TICK
