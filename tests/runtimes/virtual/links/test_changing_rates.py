"""Transfers over links that change, against the integral of the rate that the files say.

The oracle reads no file with the emulator's code: it knows what it wrote, adds up the bits of each
stretch of time as fractions, and searches the time at which a message is through.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction as Exact
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.network import LinkPlayer, build_links
from emulator.scenario import Scenario, loads
from emulator.scenario.timeline.link_changes import start_draw

FRAME = Exact(1514, 1448)
SLOWEST = 100
"""Bits per second of an outage."""
ZERO = 2.5
"""The run's zero by the driver's clock."""
LONG = 10**9
"""Seconds that no transfer takes."""


class Stretch(NamedTuple):
    """Rate and delay up to a time of the file."""

    end: Exact
    rate: Exact
    delay: Exact | None = None


@dataclass(frozen=True)
class Written:
    """A trace or steps as the scenario has them, and what they mean."""

    text: str
    """The keys of the side."""
    file: str
    """The content of the trace file; empty for steps."""
    stretches: tuple[Stretch, ...]
    loop: bool
    begin: Exact | None
    """Time of the trace at which the run begins; None: the device draws it."""
    delay: Exact
    """The side's own, in seconds."""

    def at(self, name: str, seed: int) -> Exact:
        """Return the time of the trace at which the run begins on the device `name`."""
        drawn = Exact(start_draw(seed, name))
        return drawn * self.stretches[-1].end if self.begin is None else self.begin

    def play(self, begin: Exact) -> Iterator[Stretch]:
        """Yield stretches in seconds of the run, which begins at `begin` of the file."""
        turn = Exact(0)
        while True:
            for each in self.stretches:
                if each.end + turn > begin:
                    yield each._replace(end=each.end + turn - begin)
            turn += self.stretches[-1].end
            if not self.loop:
                yield self.stretches[-1]._replace(end=Exact(LONG))


RATES = st.integers(100, 20_000).map(lambda number: number * 1000)
"""Bits per second."""
OWN = st.fixed_dictionaries({"loop": st.booleans(), "scale": st.sampled_from([1, 0.25, 3])})


@st.composite
def steps(draw: st.DrawFn) -> Written:
    times = sorted(draw(st.sets(st.integers(0, 30_000), min_size=1, max_size=6)))  # in ms
    own_rate, own_delay = draw(RATES), draw(st.integers(0, 500))
    now, made, words = (own_rate, own_delay), list[Stretch](), list[str]()
    for at in times:
        rate, delay = draw(st.none() | RATES), draw(st.none() | st.integers(0, 500))
        if rate is None and delay is None:
            rate = own_rate
        keys = [f"at: {at}ms"]
        keys += [] if rate is None else [f"rate: {rate}bit"]
        keys += [] if delay is None else [f"delay: {delay}ms"]
        words.append(f"{{{', '.join(keys)}}}")
        made.append(Stretch(Exact(at, 1000), Exact(now[0]), Exact(now[1], 1000)))
        now = own_rate if rate is None else rate, own_delay if delay is None else delay
    made.append(Stretch(Exact(LONG), Exact(now[0]), Exact(now[1], 1000)))
    text = f"rate: {own_rate}bit, delay: {own_delay}ms, steps: [{', '.join(words)}]"
    whole = tuple(each for each in made if each.end > 0)
    return Written(text, "", whole, False, Exact(0), Exact(own_delay, 1000))


@st.composite
def traced(draw: st.DrawFn, kind: str) -> Written:
    file, made = draw(FILES[kind])
    keys, own_delay = draw(OWN), Exact(draw(st.integers(0, 500)), 1000)
    scale, loop = Exact(keys["scale"]), bool(keys["loop"])
    rows = _without_a_short_end(made) if loop else made
    if not loop and rows[-1].rate * scale < 1000:  # nobody waits for the end of an endless outage
        loop, rows = True, _without_a_short_end(made)
    rows = [each._replace(rate=max(Exact(SLOWEST), each.rate * scale)) for each in rows]
    begin = draw(st.none() | st.integers(0, 40_000).map(lambda ms: Exact(ms, 1000)))
    start = "random" if begin is None else f"{float(begin)}s"
    words = [f"file: t.trace, format: {draw(st.sampled_from([kind, 'auto']))}"]
    words += [f"loop: {str(loop).lower()}, scale: {keys['scale']}, start: {start}"]
    text = f"delay: {float(own_delay)}s, trace: {{{', '.join(words)}}}"
    return Written(text, file, tuple(rows), loop, begin, own_delay)


def _without_a_short_end(rows: Sequence[Stretch]) -> list[Stretch]:
    """Return `rows` for play in a loop: an end shorter than 100 ms counts with the row before."""
    edges = [Exact(0), *(row.end for row in rows)]
    if len(rows) < 2 or edges[-1] - edges[-2] >= Exact(1, 10):
        return list(rows)
    *kept, one, two = rows
    first, last = edges[-2] - edges[-3], edges[-1] - edges[-2]
    mean = (one.rate * first + two.rate * last) / (first + last)
    known = [
        (row.delay, span) for row, span in ((one, first), (two, last)) if row.delay is not None
    ]
    whole = sum(span for _, span in known)
    delay = sum(value * span for value, span in known) / whole if whole else None
    return [*kept, Stretch(two.end, mean, delay)]


def _binned(rows: Sequence[Stretch], width: Exact) -> list[Stretch]:
    """Return the mean of each `width` seconds, from the bits that have passed by their ends."""

    def passed(until: Exact) -> Exact:
        begins = [Exact(0), *(row.end for row in rows)]
        spans = (
            (row.rate, max(Exact(0), min(until, row.end) - begin))
            for begin, row in zip(begins, rows, strict=False)
        )
        return sum((rate * span for rate, span in spans), Exact(0))

    end = rows[-1].end
    edges = [number * width for number in range(int(end / width) + 1)]
    edges += [end] if edges[-1] < end else []
    return [
        Stretch(after, (passed(after) - passed(before)) / (after - before))
        for before, after in pairwise(edges)
    ]


Drawn = tuple[str, list[Stretch]]
"""A file, and what it means."""


@st.composite
def csv(draw: st.DrawFn) -> Drawn:
    """Rows of 100 ms to 9 s, some of them without a value, in different units."""
    spans = draw(st.lists(st.integers(100, 9000), min_size=1, max_size=8))
    first = draw(st.sampled_from([0, 1500]))
    lines, made, at = ["seconds,rate,delay_ms"], list[Stretch](), 0
    for span in spans:
        rate, delay = draw(RATES | st.just(0)), draw(st.none() | st.integers(0, 500))
        written = draw(st.sampled_from([f"{rate}bit", f"{rate / 1000}kbit", f"{rate / 1e6}mbit"]))
        lines.append(f"{(first + at) / 1000},{written},{'' if delay is None else delay}")
        at += span
        seconds = None if delay is None else Exact(delay, 1000)
        made.append(Stretch(Exact(at, 1000), Exact(rate), seconds))
    if made[-1].rate == 0 and not any(row.rate for row in made):
        made[-1] = made[-1]._replace(rate=Exact(5000))
        lines[-1] = ",".join([lines[-1].split(",")[0], "5kbit", lines[-1].split(",")[2]])
    return "\n".join([*lines, f"{(first + at) / 1000},end", ""]), made


@st.composite
def close(draw: st.DrawFn) -> Drawn:
    """CSV rows that are closer than 100 ms: each 100 ms have the mean."""
    spans = draw(st.lists(st.integers(1, 300), min_size=1, max_size=12))
    lines, made, at = ["seconds,rate_kbit"], list[Stretch](), 0
    for span in [*spans, 50]:
        rate = draw(RATES)
        lines.append(f"{at / 1000},{rate // 1000}")
        at += span
        made.append(Stretch(Exact(at, 1000), Exact(rate)))
    binned = any(span < 100 for span in spans)
    return "\n".join([*lines, f"{at / 1000},end", ""]), _binned(
        made, Exact(1, 10)
    ) if binned else made


@st.composite
def mahimahi(draw: st.DrawFn) -> Drawn:
    """Opportunities for packets of 1,500 bytes: each second has the mean."""
    counts = draw(
        st.dictionaries(st.integers(1, 6000), st.integers(1, 30), min_size=1, max_size=40)
    )
    times = sorted(counts)
    text = "".join(f"{at}\n" * counts[at] for at in times)
    end = times[-1]
    made = []
    for begin in range(0, end, 1000):
        over = min(begin + 1000, end)
        inside = sum(counts[at] for at in times if begin < at <= over)
        made.append(Stretch(Exact(over, 1000), Exact(inside * 12_000 * 1000, over - begin)))
    return text, made


@st.composite
def cooked(draw: st.DrawFn) -> Drawn:
    step, rates = draw(st.integers(1, 50)), draw(st.lists(RATES, min_size=1, max_size=9))
    first = draw(st.sampled_from([0, 37]))
    lines = [f"{(first + n * step) / 10}\t{rate / 1e6}" for n, rate in enumerate(rates)]
    last = step if len(rates) > 1 else 10
    ends = [n * step for n in range(1, len(rates))]
    ends.append((ends[-1] if ends else 0) + last)
    made = [Stretch(Exact(end, 10), Exact(rate)) for end, rate in zip(ends, rates, strict=True)]
    return "\n".join(lines) + "\n", made


@st.composite
def drive(draw: st.DrawFn) -> Drawn:
    """Rows a second, with pings here and there; the test sends upwards."""
    rows = draw(st.lists(st.tuples(RATES, st.none() | st.integers(0, 900)), min_size=1, max_size=9))
    lines = ["Timestamp,PINGAVG,UL_bitrate,x,DL_bitrate"]
    first = next((ping for _, ping in rows if ping is not None), None)
    made, known = list[Stretch](), first
    for number, (rate, ping) in enumerate(rows):
        lines.append(f"{number},{'-' if ping is None else ping},{rate // 1000},7,1")
        known = known if ping is None else ping
        made.append(
            Stretch(Exact(number + 1), Exact(rate), None if known is None else Exact(known, 2000))
        )
    return "\n".join(lines) + "\n", made


FILES: dict[str, st.SearchStrategy[Drawn]] = {
    "csv": csv() | close(),
    "mahimahi": mahimahi(),
    "cooked": cooked(),
    "5g": drive(),
}


@st.composite
def worlds(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """What changes, messages, and rates behind the link."""
    return {
        "written": draw(steps() if kind == "steps" else traced(kind)),
        "messages": draw(
            st.lists(
                st.tuples(st.integers(0, 40_000), st.integers(1, 1_000_000)), min_size=1, max_size=4
            )
        ),
        "setup": draw(st.sampled_from([0, 0, 70])),
        # `overhead` needs a rate of the side's own
        "dear": draw(
            st.sampled_from([(0, 0), (100, 0), (40, 10)] if kind == "steps" else [(0, 0), (0, 50)])
        ),
        "server": draw(st.none() | RATES),
        "street": draw(st.none() | RATES),
    }


def scenario(world: dict[str, Any], folder: Path) -> Scenario:
    written, (overhead, duplicate) = world["written"], world["dear"]
    (folder / "t.trace").write_text(written.file)
    words = [written.text, f"setup: {world['setup']}ms"]
    words += [f"overhead: {overhead}"] if overhead else []
    words += [f"duplicate: {duplicate}%"] if duplicate else []
    server, street = world["server"], world["street"]
    lines = [
        "name: changing",
        "training: {dataset: digits, model: digits-mlp, algorithm: asgd}",
        "stop: {updates: 10}",
        "virtual: {tcp: false}",
        f"devices: [{{name: pair, count: 2, link: {{up: {{{', '.join(words)}}}}}}}]",
    ]
    lines += [f"server: {{link: {{down: {{rate: {server}bit}}}}}}"] if server else []
    if street:
        shared = f"{{rate: {street}bit, delay: 30ms}}"
        lines += [f"bottlenecks: [{{name: street, up: {shared}, members: [pair]}}]"]
    return loads("\n".join(lines), (), folder)


def arrivals(made: Scenario, messages: Sequence[tuple[int, int]]) -> list[float]:
    """Return when messages up the second device arrive, sent at milliseconds of the run."""
    heap, arrived = Heap(), list[float]()
    links = build_links(heap, made)
    player = LinkPlayer(heap, made, links)
    heap.run(ZERO, 10)
    player.begin(ZERO)
    for at, size in messages:
        up = links[0].up.send
        heap.at(ZERO + at / 1000, up, 1, size, lambda: arrived.append(heap.now - ZERO))
    while len(arrived) < len(messages):
        heap.run(heap.now + 2.0, 10**6)
    return arrived


def course(world: dict[str, Any], seed: int) -> Iterator[Stretch]:
    """Yield the link of the second device as its messages find it."""
    written, (overhead, duplicate) = world["written"], world["dear"]
    twice = 1 + Exact(duplicate, 100)
    dear = Exact(1514 + overhead, 1514) * twice
    # the copies of a duplicating link pass the street, too
    others = [Exact(world["street"]) / twice] if world["street"] else []
    others += [Exact(world["server"])] if world["server"] else []
    beyond = Exact(3, 100) if world["street"] else Exact(0)
    for end, rate, delay in written.play(written.at("pair-1", seed)):
        own = written.delay if delay is None else delay
        yield Stretch(end, min([rate / dear, *others]), own + beyond)


def check(world: dict[str, Any], folder: Path) -> None:
    made, messages = scenario(world, folder), sorted(world["messages"])
    free, last, slowest = Exact(0), [Exact(0)], 20e6
    for (at, size), found in zip(messages, arrivals(made, messages), strict=True):
        begin = max(free, Exact(at, 1000)) + Exact(world["setup"], 1000)
        free, changes, slow = _through(course(world, made.seed), begin, size * 8 * FRAME)
        slowest = min(slowest, float(slow))
        # each change is early or late by half a microsecond, at up to 60 mbit
        late = 1e-6 + changes * 1e-6 * 60e6 / slowest
        delays = _delays(course(world, made.seed), free, Exact(late))
        last = [max(before, free + delay) for before in last for delay in delays]
        assert any(found == pytest.approx(float(due), abs=late, rel=1e-9) for due in last)


def _through(course: Iterator[Stretch], begin: Exact, bits: Exact) -> tuple[Exact, int, Exact]:
    """Return when `bits` are through, the number of changes until then, and the rate then."""
    at, left = begin, bits
    for number, (end, rate, _) in enumerate(course):
        if end > at:
            if rate * (end - at) >= left:
                return at + left / rate, number, rate
            left, at = left - rate * (end - at), end
    raise AssertionError("the course has no end")


def _delays(course: Iterator[Stretch], at: Exact, late: Exact) -> set[Exact]:
    """Return the delays of a message that is through at about `at`."""
    found: set[Exact] = set()
    for end, _, delay in course:
        if end >= at - late:
            found.add(delay or Exact(0))
        if end > at + late:
            return found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["steps", *FILES])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_transfer_takes_the_time_of_the_rate_s_integral(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    check(data.draw(worlds(kind)), tmp_path)
