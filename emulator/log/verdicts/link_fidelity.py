"""The verdicts on links: what was achieved against what was requested, from `link` records. Pure.

Tolerances beyond what chance explains:

    rate     2 %, and half a bucket for each stretch in which packets waited for the link
    delay    1 ms and 2 %
    jitter   10 %, or what independent waits with a deviation of 1 ms would add, if that is more
    loss     0.1 % of the packets, or a quarter of the requested loss if that is less, and 5 % of
             the requested loss

Chance has one level for the whole run: an honest run misses anything with a probability of at most
1 %, however many links it has. So each property of each direction gives a probability, and all of
them are judged together (Holm, 1979).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from ...errors import first_of
from ..records.fidelity_records import LinkRecord

RATE, DELAY, DELAY_SHARE, JITTER, WAITS = 0.02, 1e-3, 0.02, 0.1, 1e-3
LOSS, LOSS_QUARTER, LOSS_SHARE = 1e-3, 0.25, 0.05
FAR = 2.0
"""Factor of the tolerance of a delay, and of the waits or the share that a jitter bears, beyond
which a miss marks the run."""
LEVEL = 0.01
"""Probability with which an honest run may miss any request."""
FRAME, BUCKET = 8 * 1514, 2e-3
"""Bits of a frame, and the seconds for which a bucket holds the rate's bits beside a frame."""
SPREAD = 0.41
"""Standard deviation, in buckets, of the bits that a stretch has too many or too few: the
difference of two even distributions."""
UNSURE = 0.07
"""Largest share of a rate for which buckets and chance, at 99 %, may account if it is judged."""
LATE_SHARE = 0.05
"""Share of echoes that may come much too late."""
DEVIATIONS = 2.576
"""Standard deviations on both sides of the mean within which 99 % of a normal distribution lie."""
FEWEST = 10
"""Echoes that a judgement of the delay needs; of the jitter thrice as many."""
MOST_LINKS = 400
"""Directions that a summary lists; a direction that missed comes first."""

KEPT, MISSED, OPEN = "kept", "missed", "not judged"
IDLE = "the link was never busy for long enough"
SHORT = "packets waited for too short a time"
UNHEARD = "too few echoes: packets waited or passed most of the time, or the run was short"
BURSTS = "losses in bursts have no binomial distribution"
HELD = "the receiver held messages back, and packets were not delayed"


@dataclass
class _Mean:
    """The mean of a request over the time of the records: a link may change."""

    total: float = 0.0
    seconds: float = 0.0

    def add(self, value: float, seconds: float) -> None:
        """Add a `value` that was requested for some `seconds`."""
        self.total += value * seconds
        self.seconds += seconds

    @property
    def value(self) -> float:
        return self.total / self.seconds if self.seconds else 0.0


class _Judged(NamedTuple):
    """A property of a direction: its facts, and the probability that chance explains them."""

    facts: dict[str, Any]
    chance: float | None
    """None: not judged."""


@dataclass
class DirectionSums:
    """Sums over the records of a node's direction."""

    ratios: list[tuple[float, float]] = field(default_factory=list)
    """Achieved rate by requested rate, and the busy seconds, of each record with a busy time."""
    bits: float = 0.0
    busy: float = 0.0
    stretches: int = 0
    rate: _Mean = field(default_factory=_Mean)
    """Requests, here and below, over all the time of the records."""
    asked_delay: _Mean = field(default_factory=_Mean)
    asked_jitter: _Mean = field(default_factory=_Mean)
    echoes: int = 0
    late: int = 0
    delay: float = 0.0
    """Sums over the echoes, here and below: of the delay and of the requested delay."""
    requested_delay: float = 0.0
    squares: float = 0.0
    """Of the squared differences from the requested delay."""
    requested_squares: float = 0.0
    """Of the squared requested jitter."""
    held: float = 0.0
    packets: int = 0
    lost: int = 0
    expected: float = 0.0
    """Packets that should have been lost."""
    requested_loss: float = 0.0
    bursts: bool = False
    behind: str = ""

    def take(self, record: LinkRecord) -> None:
        """Add a record of this direction."""
        self._take_rate(record)
        self.behind = record.behind or self.behind
        self.late += record.late
        self.held = record.held or self.held
        self.asked_delay.add(record.requested_delay, record.lasts)
        self.asked_jitter.add(record.requested_jitter, record.lasts)
        if record.delay is not None and record.jitter is not None:
            count, shift = record.echoes, record.delay - record.requested_delay
            self.echoes += count
            self.delay += count * record.delay
            self.requested_delay += count * record.requested_delay
            self.squares += count * (record.jitter**2 + shift**2)
            self.requested_squares += count * record.requested_jitter**2
        if record.requested_loss:
            self.requested_loss, self.bursts = record.requested_loss, record.bursts
            self.packets += record.packets
            self.lost += record.lost
            self.expected += record.packets * record.requested_loss

    def _take_rate(self, record: LinkRecord) -> None:
        requested = record.requested_rate
        if requested is None:
            return
        self.rate.add(requested, record.lasts)
        if record.rate is not None:
            self.stretches += record.stretches
            self.ratios.append((record.rate / requested, record.busy))
            self.busy += record.busy
            self.bits += record.busy * requested

    def judged(self) -> dict[str, _Judged]:
        """Return what was requested and achieved of each property asked for, and the probability
        that chance explains the difference."""
        found = {"rate": self._rate(), "delay": self._delay()}
        found |= {"jitter": self._jitter(), "loss": self._loss()}
        return {name: own for name, own in found.items() if own is not None}

    def excused(self, name: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Return `facts` with no miss that may be the wait at a bottleneck.

        The node's own queue keeps its rate wherever else packets wait.
        """
        if not self.behind or name == "rate" or facts["verdict"] != MISSED:
            return facts
        return {**facts, "verdict": OPEN, "why": f"packets wait at the bottleneck {self.behind}"}

    def _rate(self) -> _Judged | None:
        if not self.rate.seconds:
            return None
        if not self.ratios or not self.busy:
            return _rated(self.rate.value, None, self.busy, IDLE)
        requested, ratio = self.bits / self.busy, weighted_median(self.ratios)
        bucket = (FRAME + BUCKET * requested) / self.bits  # as a share of all bits
        bound, spread = 0.5 * self.stretches * bucket, SPREAD * math.sqrt(self.stretches) * bucket
        if bound + DEVIATIONS * spread > UNSURE:
            return _rated(requested, ratio, self.busy, SHORT)
        facts = _rated(requested, ratio, self.busy).facts
        return _Judged(facts, _beyond(abs(ratio - 1) - RATE - bound, spread))

    def _delay(self) -> _Judged | None:
        asked = self.asked_delay.value
        if self.held:
            return _unmeasured(self.held, HELD)
        if not asked and not self.requested_delay:
            return None
        timely = _timely(self.echoes, self.late)
        if self.echoes < FEWEST and not timely and self.echoes + self.late >= FEWEST:
            # many came late: the path is longer than requested, or the host is saturated
            facts = {"requested": round(asked, 6), "achieved": None}
            return _Judged({**facts, "echoes": self.echoes, "late": self.late}, 0.0)
        if self.echoes < FEWEST:
            return _unmeasured(asked, UNHEARD)
        achieved, requested = self.delay / self.echoes, self.requested_delay / self.echoes
        # by the requested jitter: what the host adds to it is no excuse
        spread = math.sqrt(self.requested_squares) / self.echoes
        chance = _beyond(abs(achieved - requested) - _tolerance("delay", requested), spread)
        facts = {"requested": round(requested, 6), "achieved": round(achieved, 6)}
        facts |= {"echoes": self.echoes, "late": self.late}
        return _Judged(facts, chance if timely else 0.0)

    def _jitter(self) -> _Judged | None:
        requested = self.asked_jitter.value
        if self.echoes:
            requested = math.sqrt(self.requested_squares / self.echoes)
        if not requested:
            return None
        if self.echoes < 3 * FEWEST:
            return _unmeasured(requested, UNHEARD)
        achieved = self._deviation()
        # the standard error of a deviation of n normal numbers
        spread = max(achieved, requested) / math.sqrt(2 * (self.echoes - 1))
        chance = _beyond(abs(achieved - requested) - _tolerance("jitter", requested), spread)
        return _Judged({"requested": round(requested, 6), "achieved": round(achieved, 6)}, chance)

    def _loss(self) -> _Judged | None:
        if not self.requested_loss:
            return None
        if not self.packets:
            return _unmeasured(self.requested_loss, UNHEARD)
        share = self.expected / self.packets
        facts = {"requested": round(share, 6), "achieved": round(self.lost / self.packets, 6)}
        facts |= {"packets": self.packets}
        if self.bursts:
            return _Judged({**facts, "verdict": OPEN, "why": BURSTS}, None)
        tolerance = _tolerance("loss", share)
        if self.lost > self.expected:
            chance = at_least(self.lost, self.packets, share + tolerance)
        else:  # of the packets that were not lost there are as many or more
            chance = at_least(self.packets - self.lost, self.packets, 1 - share + tolerance)
        return _Judged(facts, min(1.0, 2 * chance))

    def _deviation(self) -> float:
        shift = (self.delay - self.requested_delay) / self.echoes
        return math.sqrt(max(0.0, self.squares / self.echoes - shift**2))


@dataclass
class LinkFidelity:
    """The directions of all nodes, by node and way."""

    directions: dict[tuple[str, str], DirectionSums] = field(default_factory=dict)

    def take(self, record: LinkRecord) -> None:
        """Add a record."""
        self.directions.setdefault((record.node, record.way), DirectionSums()).take(record)

    def rows(
        self,
        cause: str,
        waits: Callable[[float], str] = lambda _: "",
        causes: Mapping[str, str] = MappingProxyType({}),
    ) -> list[dict[str, Any]]:
        """Return a row for each direction: what was requested and achieved, verdict and reason.

        `cause`: why the host may have missed a request; empty if it had nothing to suffer from.
        `waits`: how late packets left the box, within its bound but by so many seconds or more.
        `causes`: in place of `cause`, by the names of nodes on other hosts.
        """
        judged = {place: own.judged() for place, own in self.directions.items()}
        missed = _holm(
            {
                (*place, name): each.chance
                for place, own in judged.items()
                for name, each in own.items()
                if each.chance is not None
            }
        )
        rows = []
        for place, own in judged.items():
            facts = {
                name: each.facts
                if each.chance is None
                else self.directions[place].excused(
                    name, {**each.facts, "verdict": _word((*place, name) not in missed)}
                )
                for name, each in own.items()
            }
            rows.append(_row(*place, facts, causes.get(place[0], cause), waits))
        rows.sort(key=lambda row: row["verdict"] != MISSED)
        return rows


def _holm(chances: Mapping[tuple[str, ...], float]) -> set[tuple[str, ...]]:
    """Return the tests that miss at the level of the whole run, by their probabilities."""
    missed = set()
    for place, (test, chance) in enumerate(sorted(chances.items(), key=lambda item: item[1])):
        if chance > LEVEL / (len(chances) - place):
            break
        missed.add(test)
    return missed


def _beyond(excess: float, spread: float) -> float:
    """Return the probability that a normal number with the deviation `spread` lies so far out.

    `excess`: distance beyond the tolerance; without a spread, chance explains none of it.
    """
    if excess <= 0:
        return 1.0
    return math.erfc(excess / spread / math.sqrt(2)) if spread else 0.0


def at_least(found: int, number: int, share: float) -> float:
    """Return the probability of `found` hits or more in `number` draws that hit with `share`."""
    if found <= 0 or share >= 1:
        return 1.0
    # the terms of the binomial distribution fall from the mean on, and each follows from the last
    log = math.lgamma(number + 1) - math.lgamma(found + 1) - math.lgamma(number - found + 1)
    term = math.exp(log + found * math.log(share) + (number - found) * math.log1p(-share))
    if found <= number * share:
        return 1.0  # not far enough out to matter
    total, odds = 0.0, share / (1 - share)
    for hits in range(found, number + 1):
        total += term
        term *= odds * (number - hits) / (hits + 1)
        if term < 1e-9 * total:
            break
    return min(1.0, total)


def missed(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the directions that missed a request by far, in words; empty without any."""
    lines = [f"{row['node']} {row['way']} ({row['reason']})" for row in rows if _far(row)]
    if not lines:
        return ""
    return f"links missed what was requested: {first_of(lines, 3)}"


def _far(row: Mapping[str, Any]) -> bool:
    """Return whether a direction missed its rate or loss, or another request by far."""
    return any(
        row[name]["verdict"] == MISSED
        and (name not in ("delay", "jitter") or _off(name, row[name]) > FAR)
        for name in ("rate", "delay", "jitter", "loss")
        if name in row
    )


def _off(name: str, facts: Mapping[str, Any]) -> float:
    """Return how many tolerances lie between request and achievement; infinite if echoes came too
    late. Of a jitter: how many times the waits, or the share, that its tolerance has once."""
    if not _timely(facts.get("echoes", 0), facts.get("late", 0)):
        return math.inf
    requested, achieved = facts["requested"], facts["achieved"]
    if name == "jitter":
        waits = math.sqrt(max(0.0, achieved**2 - requested**2)) / WAITS
        share = abs(achieved - requested) / (JITTER * requested)
        return float(share if achieved < requested else min(waits, share))
    return float(abs(achieved - requested) / _tolerance(name, requested))


def _timely(echoes: int, late: int) -> bool:
    """Return whether few enough echoes came late; a single one is chance."""
    return late <= max(1.0, LATE_SHARE * (echoes + late))


def _tolerance(name: str, requested: float) -> float:
    """Return by how much a delay or a jitter, in seconds, or a share lost may be off."""
    if name == "delay":
        return DELAY + DELAY_SHARE * requested
    if name == "loss":
        # a rare loss is less than LOSS, and a link that loses nothing must not keep it
        return min(LOSS, LOSS_QUARTER * requested) + LOSS_SHARE * requested
    return max(JITTER * requested, math.hypot(requested, WAITS) - requested)


def weighted_median(values: Iterable[tuple[float, float]]) -> float:
    """Return the median of at least one pair (value, weight)."""
    ranked = sorted(values)
    half, total = sum(weight for _, weight in ranked) / 2, 0.0
    for value, weight in ranked:
        total += weight
        if total >= half:
            return value
    return ranked[-1][0]


def _row(
    node: str,
    way: str,
    facts: dict[str, dict[str, Any]],
    cause: str,
    waits: Callable[[float], str],
) -> dict[str, Any]:
    verdicts = [each["verdict"] for each in facts.values()]
    row = {"node": node, "way": way, **facts}
    if MISSED in verdicts:
        names = [name for name, each in facts.items() if each["verdict"] == MISSED]
        if "loss" not in names:  # no wait of the box loses a packet
            # a late packet is a longer delay, but a bucket makes good a wait that it can hold
            cause = cause or waits(BUCKET if "rate" in names else WAITS)
        reason = f"{' and '.join(names)}: {cause or 'the load of the host does not explain it'}"
        return {**row, "verdict": MISSED, "reason": reason}
    whys = dict.fromkeys(each["why"] for each in facts.values() if "why" in each)
    reasons = [f"{_named(facts, why)} {OPEN}: {why}" for why in whys]
    verdict = KEPT if KEPT in verdicts else OPEN
    return {**row, "verdict": verdict, "reason": "; ".join(reasons)}


def _named(facts: Mapping[str, Mapping[str, Any]], why: str) -> str:
    """Return the properties that were not judged because of `why`, in words."""
    *first, last = (name for name, each in facts.items() if each.get("why") == why)
    return f"{', '.join(first)} and {last}" if first else last


def _unmeasured(requested: float, why: str) -> _Judged:
    facts = {"requested": round(requested, 6), "achieved": None, "verdict": OPEN, "why": why}
    return _Judged(facts, None)


def _rated(requested: float, ratio: float | None, busy: float, why: str = "") -> _Judged:
    """Return the facts of a rate; `why` it is not judged, or empty."""
    facts = {
        "requested": round(requested),
        "achieved": None if ratio is None else round(ratio * requested),
        "busy_s": round(busy, 3),
        **({"verdict": OPEN, "why": why} if why else {}),
    }
    return _Judged(facts, None)


def _word(kept: bool) -> str:
    return KEPT if kept else MISSED
