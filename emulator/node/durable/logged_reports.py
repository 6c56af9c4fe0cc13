"""The reports of followers, in the leader's log before the leader takes them.

A leader takes reports while it does another input: a tick brings news, a step needs results. So in
the log they stand behind this input, in the order in which they were taken. A replay finds them
there. Behind the end of the log it waits for those that follow.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...core.sharding.shard_channels import (
    NumberedNews,
    NumberedResult,
    decode_numbered,
    encode,
)
from ...core.sharding.shard_orders import News, Order, Result
from ...transport.shard_link import LeaderLinks
from ...vectors import Buffer
from . import input_log
from .input_log import Reported


class Records:
    """The records of a log, one ahead. Raises ValueError for one that no server has written."""

    def __init__(self, inputs: Iterator[list[bytes]], number: int) -> None:
        """`number` is that of the first of `inputs`."""
        self._inputs = inputs
        self.number = number
        """Number of the next record."""
        self._next = self._read()

    def _read(self) -> input_log.Record | None:
        record = next(self._inputs, None)
        return None if record is None else input_log.parse(record)

    def next(self) -> input_log.Record | None:
        """Return the next record; None behind the last."""
        record = self._next
        if record is not None:
            self.number += 1
            self._next = self._read()
        return record

    def report(self) -> tuple[int, NumberedNews | NumberedResult] | None:
        """Return shard and report, if the next record is one."""
        if self._next is None or not isinstance(self._next[0], Reported):
            return None
        return self._next[0].shard, decode_numbered(self._next[2])


class LoggedReports:
    """The connections of a leader with its followers, as it sees them."""

    def __init__(self, links: LeaderLinks) -> None:
        self._links = links
        self._records: Records | None = None
        self._write: Callable[[Sequence[Buffer]], None] | None = None
        # taken before the log was opened
        self._held: list[tuple[int, NumberedNews | NumberedResult]] = []

    def replay(self, records: Records | None) -> None:
        """Take reports out of `records` from here on, as long as there are any; None: a replay is
        over."""
        self._records = records

    @property
    def untold(self) -> int:
        """Reports taken behind the end of the log, which `open` writes."""
        return len(self._held)

    def open(
        self, write: Callable[[Sequence[Buffer]], None] | None, *, written: bool = False
    ) -> None:
        """Write each report by `write` before it is taken; None: nothing is kept of them.

        `written`: those taken up to now are in a state. Raises LostByDisk if a follower knows
        orders that the leader has not made.
        """
        self._links.settle()
        self._write = write if write is not None else lambda parts: None
        held, self._held = self._held, []
        for shard, report in held:
            if not written:
                self._log(shard, report)
            self._links.took(shard, report)

    def tell(self, shard: int, order: Order) -> None:
        self._links.tell(shard, order)

    def result(self, shard: int) -> Result:
        found = self._records.report() if self._records else None
        if found is None:
            report = self._links.result(shard)
            self._take(shard, report)
            return report.result
        number, logged = found
        if number != shard or not isinstance(logged, NumberedResult):
            raise ValueError(f"no result of shard {shard + 1} where a step needs one")
        self._again(shard, logged)
        return logged.result

    def waiting(self) -> bool:
        return self._links.waiting()

    def news(self) -> Iterable[tuple[int, News]]:
        if self._records is None:
            for shard, report in self._links.news():
                self._take(shard, report)
                yield shard, report.news
            return
        while (found := self._records.report()) is not None:
            shard, logged = found
            if not isinstance(logged, NumberedNews):
                raise ValueError(f"a result of shard {shard + 1} that no step needs")
            self._again(shard, logged)
            yield shard, logged.news

    def returned(self) -> Iterable[int]:
        return self._links.returned()

    def state(self) -> dict[str, Any]:
        return self._links.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._links.restore(state)

    def _take(self, shard: int, report: NumberedNews | NumberedResult) -> None:
        if self._write is None:
            self._held.append((shard, report))
            return
        self._log(shard, report)
        self._links.took(shard, report)

    def _log(self, shard: int, report: NumberedNews | NumberedResult) -> None:
        assert self._write is not None
        self._write(input_log.parts(Reported(0.0, shard), [encode(report)]))

    def _again(self, shard: int, report: NumberedNews | NumberedResult) -> None:
        assert self._records is not None
        self._records.next()
        self._links.replayed(shard, report)
