"""The course of a link: the links that its steps and traces make of it, over the time of a run.

At each moment the link is an ordinary one, without steps and traces. A fault changes the link of
the moment, as `reshaped` says: a factor multiplies the rate that the trace has just then, and a
delay comes on top of its delay. A link that a fault puts in its place hides the course, which goes
on unseen.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from heapq import merge
from itertools import accumulate, pairwise
from operator import mul
from typing import NamedTuple

from ...units import Fraction, Rate, Seconds
from ..verbs import Setting
from .link import SILENT, Link, Side
from .reshaping import reshaped
from .traces import Sample

OUTAGE = Rate(100)
"""Rate in place of a trace's zero: the slowest that the kernel shapes. Packets wait in the queue,
of which one in two minutes passes, and go on when the rate rises; a cut would lose them."""


MOST_CACHED = 4096
"""Number of directions whose bounds are cached: each of many devices may play traces of its own. A
course has a side for each sample of its trace, so far fewer courses are cached."""


class SideCourse(NamedTuple):
    """The sides of a direction over time."""

    times: tuple[float, ...]
    """Ascending, the first one 0."""
    sides: tuple[Side, ...]
    """The side from each of these times on."""
    period: float
    """Seconds after which the times begin anew; infinite: the last side stays."""

    def play(self, since: float) -> Iterator[tuple[float, Side]]:
        """Yield `since` and the side at that time, then each later change, without end if it
        repeats. Changes that leave the side the same are left out."""
        endless = self.period < math.inf
        rounds, inside = divmod(since, self.period) if endless else (0.0, since)
        # a time that lies on a change but for rounding is behind the change
        index = bisect_right(self.times, inside + 1e-9) - 1
        side = self.sides[index]
        yield since, side
        if len(set(self.sides)) == 1:
            return
        while True:
            index += 1
            if index == len(self.times):
                if not endless:
                    return
                index, rounds = 0, rounds + 1
            if self.sides[index] != side:
                side = self.sides[index]
                begun = rounds * self.period if endless else 0.0
                yield begun + self.times[index], side


def link_course(link: Link, draw: float = 0.0, since: float = 0.0) -> Iterator[tuple[float, Link]]:
    """Yield `since` and the link at that second of the run, then each later change of `link`.

    `draw`, from 0 to below 1, places a trace with a random start. Times are in whole microseconds.
    """
    up = (("up", at, side) for at, side in _played(link.up, draw, since))
    down = (("down", at, side) for at, side in _played(link.down, draw, since))
    now, present = since, {"up": link.up, "down": link.down}
    for way, at, side in merge(up, down, key=lambda change: change[1]):
        if at > now:
            yield now, Link(**present)
            now = at
        present[way] = side
    yield now, Link(**present)


def link_at(link: Link, draw: float = 0.0, since: float = 0.0) -> Link:
    """Return the link that `link` is at the second `since` of the run."""
    return next(link_course(link, draw, since))[1]


def _played(side: Side, draw: float, since: float) -> Iterator[tuple[float, Side]]:
    """Yield the changes of `side` from the second `since` of the run on."""
    course = side_course(side)
    begin = 0.0 if side.trace is None else side.trace.begin(draw)
    changes = course.play(since + begin)
    yield since, next(changes)[1]
    for at, now in changes:
        yield max(since, round(at - begin, 6)), now


@lru_cache(maxsize=64)
def side_course(side: Side) -> SideCourse:
    """Return the course of `side`, from the begin of the run or of its trace."""
    own = replace(side, steps=(), trace=None)
    if side.trace is None:
        steps = [(float(step.at), replace(own, **step.named)) for step in side.steps]
        rows = steps if steps and steps[0][0] == 0 else [(0.0, own), *steps]
        return SideCourse(tuple(at for at, _ in rows), tuple(each for _, each in rows), math.inf)
    trace, scale = side.trace.played, side.trace.scale
    sides = tuple(_moment(own, sample, scale) for sample in trace.samples)
    times = tuple(sample.at for sample in trace.samples)
    return SideCourse(times, sides, trace.end if side.trace.loop else math.inf)


def _moment(own: Side, sample: Sample, scale: float) -> Side:
    """Return the side `own` with the values of `sample`, its rate times `scale`.

    A jitter above the delay is cut to the delay, and without a delay nothing is reordered.
    """
    delay = own.delay if sample.delay is None else Seconds(sample.delay)
    jitter = min(own.jitter, delay)
    made = replace(
        own,
        rate=own.rate if sample.rate is None else Rate(max(OUTAGE, sample.rate * scale)),
        delay=delay,
        jitter=jitter,
        correlation=own.correlation if jitter else Fraction(0),
        distribution=own.distribution if jitter else "normal",
        reorder=own.reorder if delay else Fraction(0),
        gap=own.gap if delay else 1,
    )
    return made if sample.loss is None else replace(made, loss=Fraction(sample.loss))


def silent_from(link: Link, setting: Setting | None = None, draw: float = 0.0) -> float:
    """Return the second of the run from which `link` carries nothing for good; infinite if never.

    `setting`: that of the verb `reshape` in force; None: none is. A link carries nothing while one
    of its directions loses all packets, or stands in an outage of its trace.
    """
    if setting is not None and "link" in setting:
        link = reshaped(link, setting)
    loss = (setting or {}).get("loss", 0.0)
    return min(_silent_from(side, loss, draw) for side in (link.up, link.down))


def _silent_from(side: Side, loss: float, draw: float) -> float:
    """Return when `side`, with an added `loss`, begins to carry nothing for good."""
    begin = 0.0 if side.trace is None else side.trace.begin(draw)
    return max(0.0, _silent_time(side, loss) - begin)


@lru_cache(maxsize=MOST_CACHED)
def _silent_time(side: Side, loss: float) -> float:
    """Return the time of the course of `side` from which it carries nothing for good, with an added
    `loss`: minus infinity if it never carries, infinity if it always does again."""
    time, endless = math.inf, side.trace is not None and side.trace.loop
    for at, each in _from_the_end(side):
        outage = side.trace is not None and each.rate is not None and each.rate <= OUTAGE
        if not (outage or 1 - (1 - each.lost) * (1 - loss) >= SILENT):
            return math.inf if endless else time
        time = at
    return -math.inf


def _from_the_end(side: Side) -> Iterator[tuple[float, Side]]:
    """Yield the times and sides of the course of `side`, the last one first, each made on demand:
    most traces end with a side that carries."""
    if side.trace is None:
        course = side_course(side)
        yield from zip(reversed(course.times), reversed(course.sides), strict=True)
        return
    own, scale = replace(side, steps=(), trace=None), side.trace.scale
    for sample in reversed(side.trace.played.samples):
        yield sample.at, _moment(own, sample, scale)


# -- bounds ----------------------------------------------------------------------------------------


def slowest(link: Link) -> Link:
    """Return a link without changes that is never faster than `link`, for time-outs.

    It has the longest delay and the highest loss. Its rate r and the time T that comes on top of
    its set-up bound each transfer: in any t seconds `link` carries r * (t - T) bits or more, as a
    latency-rate server does (Stiliadis & Varma, 1998).
    """
    return Link(_slowest(link.up), _slowest(link.down)) if link.changes else link


@lru_cache(maxsize=MOST_CACHED)
def _slowest(side: Side) -> Side:
    if not side.changes:
        return side
    course = side_course(side)
    delay = max(each.delay for each in course.sides)
    losses = [each.loss for each in course.sides]
    rates = [each.rate for each in course.sides if each.rate is not None]
    rate, late = _service(course, rates) if rates else (None, 0.0)
    jitter = min(delay, max(each.jitter for each in course.sides))
    return replace(
        side,
        steps=(),
        trace=None,
        rate=rate,
        delay=delay,
        jitter=jitter,
        loss=max(losses),
        setup=Seconds(side.setup + late),
    )


def _service(course: SideCourse, rates: Sequence[Rate]) -> tuple[Rate, float]:
    """Return a rate in bits per second, and by how many seconds the course falls behind it.

    The rate is half of the mean or the least rate, whichever is more, and no more than the rate
    that stays; an outage that stays does not count, as nobody waits for its end.
    """
    unlimited = max(rates)
    each = [unlimited if side.rate is None else side.rate for side in course.sides]
    endless = course.period < math.inf
    end = course.period if endless else course.times[-1]
    lasts = [after - before for before, after in pairwise((*course.times, end))]
    if not endless:
        while len(each) > 1 and each[-1] <= OUTAGE:
            each, lasts = each[:-1], [*lasts[:-2], 0.0]
        if math.fsum(lasts) == 0:
            return each[-1], 0.0
    mean = math.fsum(map(mul, each, lasts)) / math.fsum(lasts)
    rate = max(min(each), mean / 2 if endless else min(mean / 2, each[-1]))
    # the largest rise of the bits that the rate would have carried beyond those of the course; two
    # rounds have every span that reaches over the end
    lacks = list(accumulate((rate - own) * span for own, span in zip(each, lasts, strict=True)))
    lacks = [0.0, *lacks, *(lacks[-1] + lack for lack in lacks)] if endless else [0.0, *lacks]
    least = accumulate(lacks, min)
    behind = max(lack - low for lack, low in zip(lacks, least, strict=True))
    return Rate(rate), behind / rate
