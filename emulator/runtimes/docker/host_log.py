"""Turns the samples of the host's load into records, a value for each second."""

from collections.abc import Collection, Sequence
from statistics import fmean

from ...log.fidelity_records import HostRecord
from ...machine.host import SAMPLING, Load
from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.roles import SERVER

SECONDS = 10
"""Samples in a record."""


class HostLog:
    """The load of the host, of the server's container, and of the devices that have a CPU quota."""

    def __init__(
        self, load: Load, quotas: Collection[str], clock: EmulatedClock = UNDILATED
    ) -> None:
        """`quotas`: names of the devices that have a quota; `clock` is the run's."""
        self._load, self._quotas, self._clock = load, quotas, clock
        self._last: dict[str, tuple[float, Sequence[float]]] = {}
        """Latest report of each container: the host's time, and seconds as `cpu_use` returns."""
        self._server: float | None = None
        self._throttled: dict[str, float] = {}
        self._shown = self._taken = 0
        """Samples of the load in records, and samples that the lists below have values beside."""
        self._servers: list[float | None] = []
        self._waits: list[float | None] = []

    def heard(self, node: str, now: float, use: Sequence[float]) -> None:
        """Take what the container of `node` had used at the host's monotonic time `now`."""
        before = self._last.get(node)
        self._last[node] = now, use
        if before is None or now <= before[0]:
            return
        used, waited = (
            (new - old) / (now - before[0]) for new, old in zip(use, before[1], strict=True)
        )
        if node == SERVER:
            self._server = max(0.0, used)
        elif node in self._quotas:
            self._throttled[node] = min(1.0, max(0.0, waited))

    def tick(self, at: float, *, last: bool = False) -> HostRecord | None:
        """Return a record if enough samples are there, or at the `last` call with the rest.

        `at`: emulated time.
        """
        while self._taken < len(self._load.busy):
            self._taken += 1
            self._servers.append(self._server)
            self._waits.append(fmean(self._throttled.values()) if self._throttled else None)
        new = self._taken - self._shown
        if not new or (new < SECONDS and not last):
            return None
        record = self._record(at)
        self._shown = self._taken
        self._servers, self._waits = [], []
        return record

    def _record(self, at: float) -> HostRecord:
        part = slice(self._shown, self._taken)
        return HostRecord(
            round(at, 6),
            [round(share, 3) for share in self._load.busy[part]],
            _known(self._load.pressure[part]),
            _known(self._servers),
            _known(self._waits),
            self._clock.emulated(SAMPLING),
        )


def _known(values: Sequence[float | None]) -> list[float] | None:
    """Return `values` rounded, a missing one as the next known; None if none is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return [round(known[0] if value is None else value, 3) for value in values]
