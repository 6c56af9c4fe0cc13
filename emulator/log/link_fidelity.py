"""The verdicts on links: what was achieved against what was requested, from `link` records. Pure.

Tolerances beyond what chance explains at 99 %:

    rate     2 %, while packets waited for the link
    delay    1 ms and 2 %
    jitter   10 %, or what independent waits with a deviation of 1 ms would add, if that is more
    loss     none: the number of lost packets lies in the binomial's 99 % interval
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .fidelity_records import LinkRecord

RATE, DELAY, DELAY_SHARE, JITTER, WAITS = 0.02, 1e-3, 0.02, 0.1, 1e-3
FAR = 2.0
"""Factor of the tolerances of delay and jitter beyond which a miss marks the run."""
LATE = 0.05
"""Share of echoes that may come much too late."""
DEVIATIONS = 2.576
"""Standard deviations on both sides of the mean within which 99 % of a normal distribution lie."""
FEWEST = 10
"""Echoes that a judgement of the delay needs; of the jitter thrice as many."""
MOST = 400
"""Directions that a summary lists; a direction that missed comes first."""

KEPT, MISSED, OPEN = "kept", "missed", "not judged"
IDLE = "the link was never busy for long enough"
UNHEARD = "too few echoes: packets waited or passed most of the time, or the run was short"
BURSTS = "losses in bursts have no binomial distribution"
HELD = "the receiver held messages back, and packets were not delayed"


@dataclass
class DirectionSums:
    """Sums over the records of a node's direction."""

    ratios: list[tuple[float, float]] = field(default_factory=list)
    """Achieved rate by requested rate, and the busy seconds, of each record with a busy time."""
    requested_rate: float | None = None
    """The mean while the link was busy, or else the latest."""
    bits: float = 0.0
    busy: float = 0.0
    echoes: int = 0
    late: int = 0
    delay: float = 0.0
    """Sums over the echoes, here and below: of the delay and of the requested delay."""
    requested_delay: float = 0.0
    squares: float = 0.0
    """Of the squared differences from the requested delay."""
    requested_squares: float = 0.0
    """Of the squared requested jitter."""
    asked_delay: float = 0.0
    """The latest requested delay."""
    asked_jitter: float = 0.0
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
        self.asked_delay, self.asked_jitter = record.requested_delay, record.requested_jitter
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
        if record.rate is not None:
            self.ratios.append((record.rate / requested, record.busy))
            self.busy += record.busy
            self.bits += record.busy * requested
        self.requested_rate = self.bits / self.busy if self.busy else requested

    def plain(self) -> dict[str, Any]:
        """Return what was requested and achieved, with verdicts, of each property asked for."""
        found = {"rate": self._rate(), "delay": self._delay()}
        found |= {"jitter": self._jitter(), "loss": self._loss()}
        kept = {name: facts for name, facts in found.items() if facts is not None}
        return {name: self._excused(name, facts) for name, facts in kept.items()}

    def _excused(self, name: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Return `facts` with no miss that may be the wait at a bottleneck.

        The node's own queue keeps its rate wherever else packets wait.
        """
        if not self.behind or name == "rate" or facts["verdict"] != MISSED:
            return facts
        return {**facts, "verdict": OPEN, "why": f"packets wait at the bottleneck {self.behind}"}

    def _rate(self) -> dict[str, Any] | None:
        if self.requested_rate is None:
            return None
        achieved, verdict = None, OPEN
        if self.ratios:
            ratio = weighted_median(self.ratios)
            achieved, verdict = ratio * self.requested_rate, _word(abs(ratio - 1) <= RATE)
        return {
            "requested": round(self.requested_rate),
            "achieved": None if achieved is None else round(achieved),
            "busy_s": round(self.busy, 3),
            "verdict": verdict,
            **({} if self.ratios else {"why": IDLE}),
        }

    def _delay(self) -> dict[str, Any] | None:
        if self.held:
            return _unmeasured(self.held, HELD)
        if not self.asked_delay and not self.requested_delay:
            return None
        timely = _timely(self.echoes, self.late)
        if self.echoes < FEWEST and not timely and self.echoes + self.late >= FEWEST:
            # many came late: the path is longer than requested, or the host is saturated
            facts = {"requested": round(self.asked_delay, 6), "achieved": None}
            return {**facts, "echoes": self.echoes, "late": self.late, "verdict": MISSED}
        if self.echoes < FEWEST:
            return _unmeasured(self.asked_delay, UNHEARD)
        achieved, requested = self.delay / self.echoes, self.requested_delay / self.echoes
        # by the requested jitter: what the host adds to it is no excuse
        chance = DEVIATIONS * math.sqrt(self.requested_squares) / self.echoes
        close = abs(achieved - requested) <= _tolerance("delay", requested) + chance
        facts = {"requested": round(requested, 6), "achieved": round(achieved, 6)}
        facts |= {"echoes": self.echoes, "late": self.late}
        return {**facts, "verdict": _word(close and timely)}

    def _jitter(self) -> dict[str, Any] | None:
        requested = self.asked_jitter
        if self.echoes:
            requested = math.sqrt(self.requested_squares / self.echoes)
        if not requested:
            return None
        if self.echoes < 3 * FEWEST:
            return _unmeasured(requested, UNHEARD)
        achieved = self._deviation()
        # the standard error of a deviation of n normal numbers
        chance = DEVIATIONS * achieved / math.sqrt(2 * (self.echoes - 1))
        close = abs(achieved - requested) <= _tolerance("jitter", requested) + chance
        facts = {"requested": round(requested, 6), "achieved": round(achieved, 6)}
        return {**facts, "verdict": _word(close)}

    def _loss(self) -> dict[str, Any] | None:
        if not self.requested_loss:
            return None
        if not self.packets:
            return _unmeasured(self.requested_loss, UNHEARD)
        share = self.expected / self.packets
        chance = DEVIATIONS * math.sqrt(self.expected * (1 - share))
        close = abs(self.lost - self.expected) <= chance + 0.5  # half: numbers of packets are whole
        facts = {"requested": round(share, 6), "achieved": round(self.lost / self.packets, 6)}
        verdict = {"verdict": OPEN, "why": BURSTS} if self.bursts else {"verdict": _word(close)}
        return {**facts, "packets": self.packets, **verdict}

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

    def rows(self, cause: str) -> list[dict[str, Any]]:
        """Return a row for each direction: what was requested and achieved, verdict and reason.

        `cause`: why the host may have missed a request; empty if it had nothing to suffer from.
        """
        rows = [
            _row(node, way, direction.plain(), cause)
            for (node, way), direction in self.directions.items()
        ]
        rows.sort(key=lambda row: row["verdict"] != MISSED)
        return rows


def missed(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the directions that missed a request by far, in words; empty without any."""
    lines = [f"{row['node']} {row['way']} ({row['reason']})" for row in rows if _far(row)]
    if not lines:
        return ""
    more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
    return f"links missed what was requested: {', '.join(lines[:3])}{more}"


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
    late."""
    if not _timely(facts.get("echoes", 0), facts.get("late", 0)):
        return math.inf
    requested = facts["requested"]
    return float(abs(facts["achieved"] - requested) / _tolerance(name, requested))


def _timely(echoes: int, late: int) -> bool:
    """Return whether few enough echoes came late; a single one is chance."""
    return late <= max(1.0, LATE * (echoes + late))


def _tolerance(name: str, requested: float) -> float:
    """Return by how much a delay or a jitter, in seconds, may be off."""
    if name == "delay":
        return DELAY + DELAY_SHARE * requested
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


def _row(node: str, way: str, facts: dict[str, Any], cause: str) -> dict[str, Any]:
    verdicts = [each["verdict"] for each in facts.values()]
    row = {"node": node, "way": way, **facts}
    if MISSED in verdicts:
        names = [name for name, each in facts.items() if each["verdict"] == MISSED]
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


def _unmeasured(requested: float, why: str) -> dict[str, Any]:
    return {"requested": round(requested, 6), "achieved": None, "verdict": OPEN, "why": why}


def _word(kept: bool) -> str:
    return KEPT if kept else MISSED
