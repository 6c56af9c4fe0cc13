"""Pulls that wait for an answer, of workers and of the evaluator."""

from collections.abc import Iterable, Sequence
from typing import Any

from ...plugins.stateful import Stateful
from ...synchronization.base import PartialRelease, Synchronizer
from ..wire.messages import Pull, PullReply, Replies
from .ledger import Ledger
from .snapshot_exchange import SnapshotExchange
from .worker_exchanges import WorkerExchanges


class PullQueue(Stateful):
    """Answers each pull as soon as the synchronizer, or for the evaluator a snapshot, allows."""

    STATE = ("_waiting", "_order", "_pulls", "_releases")

    def __init__(
        self,
        synchronizer: Synchronizer[Any],
        exchanges: WorkerExchanges,
        snapshots: SnapshotExchange,
        ledger: Ledger,
    ) -> None:
        self._synchronizer, self._ledger = synchronizer, ledger
        self._exchanges, self._snapshots = exchanges, snapshots
        self._waiting: dict[str, Pull] = {}  # the last pull of each node that has no answer
        self._partial = synchronizer if isinstance(synchronizer, PartialRelease) else None
        # numbers that ascend in the order of `_waiting`, by node; only for partial releases
        self._order: dict[str, int] = {}
        self._pulls = 0
        self._releases = synchronizer.releases  # at the last look at all waiting pulls

    def add(self, pull: Pull, now: float) -> None:
        """Let `pull` wait. Raises a WireError if it cannot be answered as it asks."""
        if pull.node == self._snapshots.evaluator:
            self._snapshots.check(pull)
        else:
            self._exchanges.ask(pull, now)
        if self._partial and pull.node not in self._waiting:
            self._order[pull.node] = self._pulls
            self._pulls += 1
        self._waiting[pull.node] = pull

    def forget(self, node: str) -> None:
        """Drop the pull of `node`, which a crash has ended."""
        self._waiting.pop(node, None)

    def changed(self, ended: bool) -> list[Pull]:
        """Return the pulls whose wait may be over, in the order of arrival: after a release those
        of the released nodes, at the end all."""
        if self._releases == self._synchronizer.releases and not ended:
            pull = self._waiting.get(self._snapshots.evaluator or "")
            return [pull] if pull else []
        self._releases = self._synchronizer.releases
        if self._partial and not ended:
            # a look at all waiting pulls would cost O(devices) for every step of a small group
            names = {*self._partial.take_released(), self._snapshots.evaluator or ""}
            waiting = sorted(names & self._waiting.keys(), key=self._order.__getitem__)
            return [self._waiting[name] for name in waiting]
        return list(self._waiting.values())

    def answer(self, pulls: Iterable[Pull], now: float, ended: bool) -> Replies:
        """Answer the `pulls` that need not wait; once the run has `ended`, the evaluator's only."""
        return [
            (pull.node, reply)
            for pull in pulls
            if self._ready(pull, ended)
            for reply in self._answered(pull, now)
        ]

    def _ready(self, pull: Pull, ended: bool) -> bool:
        if pull.node == self._snapshots.evaluator:
            return self._snapshots.answers(pull)
        return not ended and not self._synchronizer.holds(pull.node)

    def _answered(self, pull: Pull, now: float) -> Sequence[PullReply]:
        """Return the messages that answer `pull`: one for each segment, with equal versions."""
        del self._waiting[pull.node]
        if pull.node == self._snapshots.evaluator:
            replies: Sequence[PullReply] = [self._snapshots.answer(pull)]
            self._ledger.pull(pull.node, replies, now)
            self._ledger.unused(pull.node)  # until its score
            return replies
        again = self._exchanges.computes(pull.node)
        replies = self._exchanges.answer(pull, now)
        self._ledger.pull(pull.node, replies, now, again=again)
        return replies
