"""Turns the samples of the host's load into records, a value for each second."""

import os
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from ...log.records.fidelity_records import HostRecord
from ...log.verdicts.host_shortage import is_short
from ...machine.host import LOAD_SAMPLING, Load, Samples
from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.roles import EVALUATOR, is_server
from .engine.hosts import EngineHost, HostClock, Hosts

SECONDS = 10
"""Samples in a record."""


class _Beside(NamedTuple):
    """The latest reports of containers beside a sample of the host's load; None: unknown."""

    server: float | None
    evaluator: float | None
    throttled: float | None
    waits: float | None


class HostLog:
    """The load of the host, of the server's and the evaluator's containers, and of the devices."""

    def __init__(
        self,
        load: Samples,
        quotas: Collection[str],
        clock: EmulatedClock = UNDILATED,
        cores: int | None = None,
        host: EngineHost | None = None,
        word: str = "",
    ) -> None:
        """`quotas`: names of the devices that have a quota; `clock` is the run's; `cores` of the
        host, by default those of this machine, as `host` is; `word` names it in records."""
        self._host, self._word, self._begun = host, word, False
        self._load, self._quotas, self._clock = load, quotas, clock
        self._cores = cores or os.cpu_count() or 1
        self._last: dict[str, tuple[float, Sequence[float]]] = {}
        """Latest report of each container: the host's time, and seconds as `cpu_use` returns."""
        self._servers: dict[str, float] = {}
        """Cores that the server used at last, or each of its shards."""
        self._evaluator: float | None = None
        self._throttled: dict[str, float] = {}
        self._waits: dict[str, float] = {}
        self._shown = 0
        """Samples of the load in records."""
        self._beside: list[_Beside] = []
        """Values beside the samples that are in no record yet."""

    def heard(self, node: str, now: float, use: Sequence[float]) -> None:
        """Take what the container of `node` had used at the host's monotonic time `now`."""
        before = self._last.get(node)
        self._last[node] = now, use
        if before is None or now <= before[0] or len(use) != len(before[1]):
            return
        used, throttled, *waited = (
            (new - old) / (now - before[0]) for new, old in zip(use, before[1], strict=True)
        )
        if node == EVALUATOR:
            self._evaluator = min(1.0, max(0.0, used / self._cores))
            return
        if is_server(node):
            self._servers[node] = max(0.0, used)
        elif node in self._quotas:
            self._throttled[node] = min(1.0, max(0.0, throttled))
        if waited:  # the pressure counts waits at the quota, too
            self._waits[node] = min(1.0, max(0.0, waited[0] - max(0.0, throttled)))

    def tick(self, at: float, *, last: bool = False) -> HostRecord | None:
        """Return a record if enough samples are there, or at the `last` call with the rest.

        `at`: emulated time.
        """
        samples = len(self._load.busy)
        if self._host is not None and not self._begun:  # another host's began before the run
            self._shown, self._begun = samples, True
        while self._shown + len(self._beside) < samples:
            means = (fmean(own.values()) if own else None for own in (self._throttled, self._waits))
            server = sum(self._servers.values()) if self._servers else None
            self._beside.append(_Beside(server, self._evaluator, *means))
        # the evaluator's report on a second may come after the sample: one more is awaited
        count = len(self._beside) if last else SECONDS
        if not count or len(self._beside) < count + (not last):
            return None
        record = self._record(at - self._clock.emulated(LOAD_SAMPLING) * (not last), count)
        self._shown += count
        del self._beside[:count]
        return record

    def _record(self, at: float, count: int) -> HostRecord:
        """Return the record of the next `count` samples, the last of which was taken at `at`."""
        part, beside = slice(self._shown, self._shown + count), self._beside[:count]
        busy = self._load.busy[part]
        evaluator = _known(
            [
                _largest(each.evaluator, after.evaluator)
                for each, after in zip(beside, [*self._beside[1:], beside[-1]], strict=False)
            ]
        )
        waits = _known([each.waits for each in beside])
        unknown = [None] * count
        clock = self._host.clock if self._host else HostClock()
        return HostRecord(
            round(at, 6),
            [round(share, 3) for share in busy],
            pressure=_known(self._load.pressure[part]),
            evaluator=evaluator,
            waits=waits,
            short=list(map(is_short, busy, evaluator or [0.0] * count, waits or unknown)),
            server=_known([each.server for each in beside]),
            throttled=_known([each.throttled for each in beside]),
            step=self._clock.emulated(LOAD_SAMPLING),
            host=self._word,
            clock_ahead=clock.ahead,
            clock_error=clock.error,
        )


class HostLogs:
    """The load of all hosts of a run, each with the containers there."""

    def __init__(
        self, hosts: Hosts, load: Load, quotas: Collection[str], clock: EmulatedClock
    ) -> None:
        """`load` is that of this machine; `quotas` and `clock` as of a `HostLog`."""
        self._hosts = hosts
        self._logs = {hosts.home: HostLog(load, quotas, clock, word=hosts.home.word)}
        for host in hosts.others:
            own = HostLog(host.load, quotas, clock, host.cores, host, host.word)
            self._logs[host] = own

    def heard(self, node: str, now: float, use: Sequence[float]) -> None:
        """Take what the container of `node` had used at the time `now` of this machine's clock."""
        self._logs[self._hosts.of(node)].heard(node, now, use)

    def tick(self, at: float, *, last: bool = False) -> Iterator[HostRecord]:
        """Yield a record of each host with enough samples; `at`, `last` as of `HostLog.tick`."""
        for log in self._logs.values():
            if (record := log.tick(at, last=last)) is not None:
                yield record


def _largest(*values: float | None) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _known(values: Sequence[float | None]) -> list[float] | None:
    """Return `values` rounded, a missing one as the next known; None if none is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return [round(known[0] if value is None else value, 3) for value in values]
