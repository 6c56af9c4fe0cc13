"""What came of each fault: updates, bytes and accuracy before, while and after it held a device.

The three windows of a fault are compared with each other: its own duration, and as long a time
before and after it, from 1 s to 60 s. Windows before and after leave out the time in which another
fault held any device, and a window of which less than a tenth is left has no rate. Rates are those
of the whole run, so faults that overlap share their effects. Updates that a crash of the server
lost do not count; their bytes did travel.

A fault holds its device until the first message of the device that the server has on record after
the fault's end; a fault of the server until the next update. TCP waits for its timer after a cut,
no longer than the cut was, so the device is held for the fault's own duration more at most (1 s if
it was shorter). A device whose process ended has to boot and to pull a whole model: it is held
until its first push, or else for as long after its first message as it took until then. No device
is held for more than 60 s after the fault's end. Faults of one kind that are planned for the same
time, as those of several `nodes`, count as one fault here: none of them is another fault to the
others.

The three rates of a kind are means over the same faults, each of them weighted by its duration: the
faults that have all three windows, or else those that have a window before. A kind without such a
fault has no rates.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

from ...world import verbs
from ...world.roles import EVALUATOR, SERVER
from ..flow import FlowSums
from ..lines import microseconds
from ..records import (
    ActivationsRecord,
    EvaluationRecord,
    HelloRecord,
    PullRecord,
    Record,
    RecoveredRecord,
    StopRecord,
    UpdateRecord,
)
from ..records.fault_records import FaultRecord
from ..records.record_fields import kind

LISTED = 100
"""Faults whose effects the summary lists one by one; the sums of their kinds have all."""

MOST_FAULTS = 10_000
"""Faults whose effects are measured: the first ones of a run."""

_SHORTEST, _LONGEST = 1.0, 60.0
"""Seconds of the windows before and after a fault, at least and at most."""

_LEAST = 0.1
"""Share of a window before or after a fault that must be left without other faults."""

_QUANTITIES = ("updates", "push_bytes", "pull_bytes", "activation_bytes")
_UPDATES = _QUANTITIES.index("updates")
_WINDOWS = ("before", "during", "after")


class _Window(NamedTuple):
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return max(0.0, self.end - self.begin)


_Planned: TypeAlias = tuple[str, float, float | None]
"""Kind of a fault, and when it was planned to begin and to end; None: it has not ended."""


@dataclass
class _Struck:
    """A fault that has begun."""

    begun: FaultRecord
    boots: bool
    """Whether the process of the device may have ended, so that the device has to boot."""
    ended: FaultRecord | None = None
    heard: float = math.inf
    """When the server has heard enough from the device after the fault's end."""

    @property
    def until(self) -> float | None:
        return None if self.ended is None else self.ended.at

    @property
    def held(self) -> _Window:
        """The time for which the fault held its device, with the device's recovery."""
        if self.ended is None:
            return _Window(self.begun.at, math.inf)
        lasted = _LONGEST if self.boots else self.ended.at - self.begun.at
        return _Window(self.begun.at, min(self.heard, self.ended.at + _within_bounds(lasted)))

    def hear(self, at: float, pushed: bool) -> bool:
        """Take a message of the device after the fault's end; return whether it is enough."""
        enough = pushed or not self.boots
        self.heard = min(self.heard, at if enough else at + (at - (self.until or 0.0)))
        return enough

    @property
    def planned(self) -> _Planned:
        until = None if self.ended is None else self.ended.planned
        return self.begun.fault, self.begun.planned, until


class _Holders:
    """The number of faults that hold a device at each time: 0, 1, or 2 for more than one.

    Faults with the same key, which were planned together, count as one.
    """

    def __init__(self, spans: Mapping[_Planned, Iterable[_Window]]) -> None:
        self._spans = {planned: _joined(own) for planned, own in spans.items()}
        changes: Counter[float] = Counter()
        for begin, end in chain.from_iterable(self._spans.values()):
            changes[begin] += 1
            changes[end] -= 1
        self._times: list[float] = []
        self._numbers = [0]
        """Number of faults before the first time, and from each of the times on."""
        holding = 0
        for at in sorted(changes):
            holding += changes[at]
            if min(holding, 2) != self._numbers[-1]:
                self._times.append(at)
                self._numbers.append(min(holding, 2))

    def without(self, window: _Window, planned: _Planned) -> list[_Window]:
        """Return the parts of `window` in which no fault but those `planned` held a device."""
        own = self._spans[planned]
        first, last = bisect_right(self._times, window.begin), bisect_left(self._times, window.end)
        inner = (at for at in chain.from_iterable(own) if window.begin < at < window.end)
        cuts = sorted({*window, *self._times[first:last], *inner})
        return [
            _Window(begin, end)
            for begin, end in pairwise(cuts)
            if self._numbers[bisect_right(self._times, begin)]
            <= any(span.begin <= begin < span.end for span in own)
        ]


def _joined(spans: Iterable[_Window]) -> list[_Window]:
    """Return the union of `spans`, in ascending order."""
    joined: list[_Window] = []
    for span in sorted(spans):
        if joined and span.begin <= joined[-1].end:
            joined[-1] = _Window(joined[-1].begin, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


class FaultEffects:
    """Takes the records of a run in their order; `plain` has the effects of its faults."""

    def __init__(self) -> None:
        self._flow = FlowSums(len(_QUANTITIES))
        self._scores: list[tuple[float, float]] = []
        self._score = "accuracy"  # or the "error" of a regression
        self._faults: list[_Struck] = []
        # by node, fault and row of the verbs: a crash is a `kill` or a `halt`, and may be both
        self._open: dict[tuple[str, str, str], list[_Struck]] = defaultdict(list)
        # those that have ended, by the device that the server has not heard from since
        self._recovering: dict[str, list[_Struck]] = defaultdict(list)
        self._held: dict[_Planned, list[_Window]] = defaultdict(list)
        """Of the faults whose devices have recovered."""
        self._counts: Counter[str] = Counter()
        self._cut = False
        self._end = 0.0

    def take(self, record: Record) -> None:
        """Take the next record of the run; most kinds have no part in the effects."""
        match record:
            case UpdateRecord():
                size = record.values + record.indices + record.headers + record.framing
                self._flow.add(record.at, (1, size, 0, 0))
                for node in (record.node, SERVER):  # any update is one of the server
                    self._hear(record.at, node, pushed=True)
            case PullRecord() if record.node != EVALUATOR:
                self._flow.add(record.at, (0, 0, record.bytes, 0))
                self._hear(record.at, record.node)
            case ActivationsRecord():
                self._cut = True
                self._flow.add(record.at, (0, 0, 0, record.up + record.down))
                self._hear(record.at, record.node, pushed=True)
            case HelloRecord():
                self._hear(record.at, record.node)
            case EvaluationRecord(error=None) if record.accuracy is not None:
                self._scores.append((record.at, record.accuracy))
            case EvaluationRecord() if record.error is not None:
                self._scores.append((record.at, record.error))
                self._score = "error"
            case FaultRecord():
                self._turn(record)
            case RecoveredRecord():
                self._flow.take_back(_UPDATES, record.lost)
            case StopRecord():
                self._end = record.at

    def _turn(self, record: FaultRecord) -> None:
        row = verbs.row_of_record(kind(type(record)))
        key = record.node, record.fault, "" if row is None else row.name
        if record.again:  # goes on after the run was resumed
            return
        if not record.begins:
            for struck in self._open.pop(key, ()):
                struck.ended = record
                self._recovering[record.node].append(struck)
            return
        self._counts[record.fault] += 1
        struck = _Struck(record, row is not None and (row.ends_process or row.revives))
        self._open[key].append(struck)
        if len(self._faults) < MOST_FAULTS:
            self._faults.append(struck)

    def _hear(self, at: float, node: str, *, pushed: bool = False) -> None:
        """Take a message of `node` that the server has on record, as a sign that it recovers."""
        for struck in self._recovering.pop(node, ()):
            if struck.hear(at, pushed):
                self._held[struck.planned].append(struck.held)
            else:
                self._recovering[node].append(struck)

    def plain(self) -> dict[str, Any]:
        """Return `kinds`, `faults` and the number `unlisted`; empty without a fault."""
        if not self._faults:
            return {}
        spans = {planned: [*own] for planned, own in self._held.items()}
        for struck in chain.from_iterable((*self._open.values(), *self._recovering.values())):
            spans.setdefault(struck.planned, []).append(struck.held)
        holders = _Holders(spans)
        by_kind: dict[str, list[_Struck]] = defaultdict(list)
        for struck in self._faults:
            by_kind[struck.begun.fault].append(struck)
        return {
            "kinds": {kind: self._sum(kind, own, holders) for kind, own in by_kind.items()},
            "faults": [self._effect(struck, holders) for struck in self._faults[:LISTED]],
            "unlisted": sum(self._counts.values()) - min(len(self._faults), LISTED),
        }

    def _sum(self, kind: str, faults: Sequence[_Struck], holders: _Holders) -> dict[str, Any]:
        """Return the sums of all faults of a kind, and the mean rates of those to be compared."""
        lengths = [self._windows(struck)["during"].seconds for struck in faults]
        rates = [self._rates(struck, holders) for struck in faults]
        compared = _comparable(list(zip(lengths, rates, strict=True)))
        return {
            "count": self._counts[kind],
            "devices": len({struck.begun.node for struck in faults}),
            "seconds": round(sum(lengths), 3),
            "latest_s": round(max(each.begun.at - each.begun.planned for each in faults), 3),
            **({"compared": len(compared)} if len(compared) < self._counts[kind] else {}),
            **self._named([_mean(compared, name) for name in _WINDOWS]),
        }

    def _effect(self, struck: _Struck, holders: _Holders) -> dict[str, Any]:
        begun, windows = struck.begun, self._windows(struck)
        return {
            "kind": begun.fault,
            "node": begun.node,
            "planned": microseconds(begun.planned),  # of a drawn fault a reading of the clock
            "at": begun.at,
            "until": struck.until,
            **({} if begun.setting is None else {"setting": dict(begun.setting)}),
            **self._named([self._rates(struck, holders)[name] for name in _WINDOWS]),
            self._score: {name: self._last(name, windows[name]) for name in _WINDOWS},
        }

    def _windows(self, struck: _Struck) -> Mapping[str, _Window]:
        """Return the windows of a fault; one outside the run has no length."""
        begin = struck.begun.at
        until = self._end if struck.until is None else min(struck.until, self._end)
        length = _within_bounds(until - begin)
        return {
            "before": _Window(max(0.0, begin - length), begin),
            "during": _Window(begin, until),
            "after": _Window(until, min(self._end, until + length)),
        }

    def _rates(self, struck: _Struck, holders: _Holders) -> "_Rates":
        """Return the quantities a second in each window of a fault; None where no time is left."""
        rates: dict[str, list[float] | None] = {}
        for name, window in self._windows(struck).items():
            compared = name != "during"
            parts = _undisturbed(window, struck, holders) if compared else [window]
            seconds = sum(part.seconds for part in parts)
            sums = zip(*(self._flow.between(part.begin, part.end) for part in parts), strict=True)
            rates[name] = [sum(own) / seconds for own in sums] if seconds else None
        return rates

    def _named(self, rates: Sequence[list[float] | None]) -> dict[str, dict[str, float | None]]:
        """Return the `rates` of the three windows by quantity; of activations with a cut only."""
        return {
            f"{quantity}_per_s": {
                name: None if own is None else round(own[place], 3)
                for name, own in zip(_WINDOWS, rates, strict=True)
            }
            for place, quantity in enumerate(_QUANTITIES)
            if quantity != "activation_bytes" or self._cut
        }

    def _last(self, name: str, window: _Window) -> float | None:
        """Return the last score measured in the window; before a fault, however early."""
        begin = 0.0 if name == "before" else window.begin
        own = [score for at, score in self._scores if begin <= at <= window.end]
        return own[-1] if own else None


_Rates: TypeAlias = Mapping[str, list[float] | None]
"""Each quantity a second, by window; None: no time of the window is left."""


def _comparable(faults: Sequence[tuple[float, _Rates]]) -> list[tuple[float, _Rates]]:
    """Return the faults of a kind that have a window before, and after if any of them has both.

    `faults`: duration in seconds, and rates.
    """
    begun = [each for each in faults if each[1]["before"] and each[1]["during"]]
    return [each for each in begun if each[1]["after"]] or begun


def _mean(faults: Sequence[tuple[float, _Rates]], name: str) -> list[float] | None:
    """Return the mean rates in the window `name`, weighted by the seconds of each fault."""
    known = [(seconds, own) for seconds, rates in faults if (own := rates[name])]
    total = sum(seconds for seconds, _ in known)
    if not known:
        return None
    return [
        sum(seconds * own[place] for seconds, own in known) / total
        for place in range(len(_QUANTITIES))
    ]


def _within_bounds(seconds: float) -> float:
    return min(_LONGEST, max(_SHORTEST, seconds))


def _undisturbed(window: _Window, struck: _Struck, holders: _Holders) -> list[_Window]:
    """Return the parts of `window` without another fault; none if less than a tenth is left."""
    parts = holders.without(window, struck.planned)
    left = sum(part.seconds for part in parts)
    return parts if left >= _LEAST * window.seconds else []
