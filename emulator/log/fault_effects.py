"""What came of each fault: updates, bytes and accuracy before, while and after it held a device.

The three windows of a fault are compared with each other: its own duration, and as long a time
before and after it, from 1 s to 60 s. Windows before and after leave out the time in which another
fault held any device, and a window of which less than a tenth is left has no rate. A fault holds
its device until the device's next update, for 60 s after the fault's end at most: a device that
crashed has to boot, and TCP waits for its timer after a cut. Rates are those of the whole run, so
faults that overlap share their effects. Updates that a crash of the server lost do not count; their
bytes did travel.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

from ..world import verbs
from ..world.roles import EVALUATOR, SERVER
from .fault_records import FaultRecord
from .flow import FlowSums
from .record_fields import kind
from .records import (
    EvaluationRecord,
    PullRecord,
    Record,
    RecoveredRecord,
    StopRecord,
    UpdateRecord,
)
from .writing import microseconds

LISTED = 100
"""Faults whose effects the summary lists one by one; the sums of their kinds have all."""

MOST = 10_000
"""Faults whose effects are measured: the first ones of a run."""

_SHORTEST, _LONGEST = 1.0, 60.0
"""Seconds of the windows before and after a fault, at least and at most."""

_LEAST = 0.1
"""Share of a window before or after a fault that must be left without other faults."""

_QUANTITIES = ("updates", "push_bytes", "pull_bytes")
_UPDATES = _QUANTITIES.index("updates")
_WINDOWS = ("before", "during", "after")


@dataclass
class _Struck:
    """A fault that has begun."""

    begun: FaultRecord
    until: float | None = None
    recovered: float = math.inf
    """When it holds its device no longer."""

    @property
    def held(self) -> "_Window":
        return _Window(self.begun.at, self.recovered)


class _Window(NamedTuple):
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return max(0.0, self.end - self.begin)


class _Holders:
    """How many faults hold a device at each time: none, one, or more than one."""

    def __init__(self, spans: Iterable[_Window]) -> None:
        changes: Counter[float] = Counter()
        for begin, end in spans:
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

    def without(self, window: _Window, own: _Window) -> list[_Window]:
        """Return the parts of `window` in which no fault but that of the span `own` held a device."""
        first, last = bisect_right(self._times, window.begin), bisect_left(self._times, window.end)
        inner = (at for at in own if window.begin < at < window.end)
        cuts = sorted({*window, *self._times[first:last], *inner})
        return [
            _Window(begin, end)
            for begin, end in pairwise(cuts)
            if self._numbers[bisect_right(self._times, begin)] <= (own.begin <= begin < own.end)
        ]


class FaultEffects:
    """Takes the records of a run in their order; `plain` has the effects of its faults."""

    def __init__(self) -> None:
        self._flow = FlowSums(len(_QUANTITIES))
        self._scores: list[tuple[float, float]] = []
        self._score = "accuracy"  # or the "error" of a regression
        self._faults: list[_Struck] = []
        # by node, fault and row of the verbs: a crash is a `kill` or a `halt`, and may be both
        self._open: dict[tuple[str, str, str], list[_Struck]] = defaultdict(list)
        # those that have ended, by the device that has made no update since
        self._recovering: dict[str, list[_Struck]] = defaultdict(list)
        self._held: list[_Window] = []
        """Of the faults whose devices have recovered."""
        self._counts: Counter[str] = Counter()
        self._end = 0.0

    def take(self, record: Record) -> None:
        """Take the next record of the run; most kinds have no part in the effects."""
        match record:
            case UpdateRecord():
                size = record.values + record.indices + record.headers + record.framing
                self._flow.add(record.at, (1, size, 0))
                if self._recovering:
                    self._recover(record)
            case PullRecord() if record.node != EVALUATOR:
                self._flow.add(record.at, (0, 0, record.bytes))
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
                struck.until = record.at
                struck.recovered = record.at + _LONGEST
                self._recovering[record.node].append(struck)
            return
        self._counts[record.fault] += 1
        struck = _Struck(record)
        self._open[key].append(struck)
        if len(self._faults) < MOST:
            self._faults.append(struck)

    def _recover(self, update: UpdateRecord) -> None:
        """End the faults that held the device of `update`; any update is one of the server."""
        for node in (update.node, SERVER):
            for struck in self._recovering.pop(node, ()):
                struck.recovered = min(struck.recovered, max(update.at, struck.until or 0.0))
                self._held.append(struck.held)

    def plain(self) -> dict[str, Any]:
        """Return `kinds`, `faults` and the number `unlisted`; empty without a fault."""
        if not self._faults:
            return {}
        going_on = chain.from_iterable((*self._open.values(), *self._recovering.values()))
        holders = _Holders(chain(self._held, (struck.held for struck in going_on)))
        by_kind: dict[str, list[_Struck]] = defaultdict(list)
        for struck in self._faults:
            by_kind[struck.begun.fault].append(struck)
        return {
            "kinds": {kind: self._sum(kind, own, holders) for kind, own in by_kind.items()},
            "faults": [self._effect(struck, holders) for struck in self._faults[:LISTED]],
            "unlisted": sum(self._counts.values()) - min(len(self._faults), LISTED),
        }

    def _sum(self, kind: str, faults: Sequence[_Struck], holders: _Holders) -> dict[str, Any]:
        """Return the effects of all faults of a kind, each window by its length."""
        seconds = sum(self._windows(struck)["during"].seconds for struck in faults)
        return {
            "count": self._counts[kind],
            "devices": len({struck.begun.node for struck in faults}),
            "seconds": round(seconds, 3),
            "latest_s": round(max(each.begun.at - each.begun.planned for each in faults), 3),
            **self._rates(faults, holders),
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
            **self._rates([struck], holders),
            self._score: {name: self._last(name, windows[name]) for name in _WINDOWS},
        }

    def _windows(self, struck: _Struck) -> Mapping[str, _Window]:
        """Return the windows of a fault; one outside the run has no length."""
        begin = struck.begun.at
        until = self._end if struck.until is None else min(struck.until, self._end)
        length = min(_LONGEST, max(_SHORTEST, until - begin))
        return {
            "before": _Window(max(0.0, begin - length), begin),
            "during": _Window(begin, until),
            "after": _Window(until, min(self._end, until + length)),
        }

    def _rates(self, faults: Sequence[_Struck], holders: _Holders) -> dict[str, dict[str, Any]]:
        """Return each quantity a second in each window, over all of `faults` together."""
        seconds = dict.fromkeys(_WINDOWS, 0.0)
        sums = {name: [0.0] * len(_QUANTITIES) for name in _WINDOWS}
        for struck in faults:
            for name, window in self._windows(struck).items():
                compared = name != "during"
                for part in _undisturbed(window, struck, holders) if compared else [window]:
                    seconds[name] += part.seconds
                    found = self._flow.between(part.begin, part.end)
                    sums[name] = [a + b for a, b in zip(sums[name], found, strict=True)]
        return {
            f"{quantity}_per_s": {
                name: round(sums[name][place] / seconds[name], 3) if seconds[name] else None
                for name in _WINDOWS
            }
            for place, quantity in enumerate(_QUANTITIES)
        }

    def _last(self, name: str, window: _Window) -> float | None:
        """Return the last score measured in the window; before a fault, however early."""
        begin = 0.0 if name == "before" else window.begin
        own = [score for at, score in self._scores if begin <= at <= window.end]
        return own[-1] if own else None


def _undisturbed(window: _Window, struck: _Struck, holders: _Holders) -> list[_Window]:
    """Return the parts of `window` without another fault; none if less than a tenth is left."""
    parts = holders.without(window, struck.held)
    left = sum(part.seconds for part in parts)
    return parts if left >= _LEAST * window.seconds else []
