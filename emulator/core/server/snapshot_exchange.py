"""Snapshots of the model on their way to the evaluator, and their scores on the way back."""

from collections.abc import Callable
from typing import TypeAlias

from ...errors import WireError
from ...log.records import EvaluationRecord
from ...plugins.stateful import Stateful
from ...vectors import Vector
from ..wire.messages import ModelReply, Pull, Score
from .evaluations import Evaluations, Snapshot
from .ledger import Ledger
from .parameters import Saved
from .pulled_versions import check_sent

Keep: TypeAlias = Callable[[EvaluationRecord, Vector], None]
"""Stores a snapshot with the record of its measurement, which has no score yet."""


class SnapshotExchange(Stateful):
    """Sends snapshots of the model to the evaluator, never encoded as the pulls of workers may be.

    With a `keep` each snapshot goes to that function instead, for a measurement after the run.
    Without an evaluator and a `keep` no snapshot is taken.
    """

    STATE = ("_evaluations", "_evaluated")

    def __init__(
        self,
        evaluator: str | None,
        every: int,
        size: int,
        model: Saved,
        ledger: Ledger,
        keep: Keep | None = None,
    ) -> None:
        """A version is due at each multiple of `every` updates; a snapshot takes `size` bytes.

        Snapshots are taken of `model`; scores are written to `ledger`.
        """
        self.evaluator, self._keep = evaluator, keep
        self._model, self._ledger = model, ledger
        self._evaluations = Evaluations(every, size)
        self._evaluated: Snapshot | None = None  # sent to the evaluator, and not scored yet

    @property
    def waiting(self) -> bool:
        """Whether a snapshot still has to be measured."""
        return self._evaluations.waiting

    @property
    def unmeasured(self) -> list[int]:
        """The versions that were due and have no score, the oldest first."""
        return self._evaluations.unmeasured

    def reach(self, now: float) -> None:
        """Keep a snapshot of the model's version if the version is due."""
        if self._measured:
            self._evaluations.reach(self._model.version, lambda: self._taken(now))
            self._put_away()

    def finish(self, now: float) -> None:
        """Keep the run's last model, due or not."""
        if self._measured:
            self._evaluations.finish(self._model.version, lambda: self._taken(now))
            self._put_away()

    @property
    def _measured(self) -> bool:
        return self.evaluator is not None or self.later

    @property
    def later(self) -> bool:
        """Whether versions are stored, for a measurement after the run."""
        return self._keep is not None

    def _put_away(self) -> None:
        """Give the waiting snapshots to `keep`, if there is one: none waits for an evaluator."""
        while self._keep and (snapshot := self._evaluations.next(0)) is not None:
            self._keep(self._ledger.unscored(snapshot), snapshot.theta)
            self._evaluations.score(snapshot.version)

    def _taken(self, now: float) -> Snapshot:
        model = self._model
        return Snapshot(model.version, model.snapshot(), now, self._ledger.push_bytes)

    def check(self, pull: Pull) -> None:
        """Raise a WireError if `pull` asks for segments: the evaluator measures whole models."""
        if pull.segments:
            raise WireError(f"{pull.node} cannot pull in segments")

    def answers(self, pull: Pull) -> bool:
        """Return whether a snapshot answers `pull`."""
        return self._evaluations.next(pull.after) is not None

    def answer(self, pull: Pull) -> ModelReply:
        """Return the next snapshot that answers `pull`. `answers` must have returned True."""
        snapshot = self._evaluated = self._evaluations.next(pull.after)
        assert snapshot is not None
        return ModelReply(pull.ticket, snapshot.version, snapshot.theta)

    def repeats(self, score: Score) -> bool:
        """Return whether `score` is the last one once more.

        The evaluator sends it again if the connection breaks before the next answer.
        """
        if score.node != self.evaluator or score.version != self._evaluations.scored:
            return False
        return self._evaluated is None or self._evaluated.version != score.version

    def score(self, score: Score, now: float) -> None:
        """Record the `score` of the snapshot that was sent last, and drop the snapshot.

        Raises a WireError if `score` is another node's, or of another version.
        """
        if score.node != self.evaluator:
            raise WireError(f"{score.node} is not the evaluator")
        check_sent(score, self._evaluated.version if self._evaluated else None)
        measured, self._evaluated = self._evaluated, None
        assert measured is not None
        self._evaluations.score(score.version)
        self._ledger.score(score, measured, now)

    def forget(self) -> None:
        """Forget the snapshot that was sent last: the evaluator has lost it."""
        self._evaluated = None
