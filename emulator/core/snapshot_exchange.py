"""Snapshots of the model on their way to the evaluator, and their scores on the way back."""

from collections.abc import Callable

from ..errors import WireError
from .evaluations import Evaluations, Snapshot
from .messages import ModelReply, Pull


class SnapshotExchange:
    """Sends snapshots of the model to the evaluator, never encoded as the pulls of workers may be.

    Without an evaluator no snapshot is kept.
    """

    def __init__(self, evaluator: str | None, every: int, size: int) -> None:
        """A version is due at each multiple of `every` updates; a snapshot takes `size` bytes."""
        self.evaluator = evaluator
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

    @property
    def sent(self) -> int | None:
        """Version that the evaluator measures; None while the evaluator has no model."""
        return self._evaluated.version if self._evaluated else None

    def reach(self, version: int, take: Callable[[], Snapshot]) -> None:
        """Keep the snapshot that `take` makes if `version` is due."""
        if self.evaluator is not None:
            self._evaluations.reach(version, take)

    def finish(self, version: int, take: Callable[[], Snapshot]) -> None:
        """Keep the run's last model, due or not."""
        if self.evaluator is not None:
            self._evaluations.finish(version, take)

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

    def score(self, version: int) -> Snapshot:
        """Drop and return the snapshot of `version`, which was sent last and has a score."""
        measured, self._evaluated = self._evaluated, None
        assert measured is not None and measured.version == version
        self._evaluations.score(version)
        return measured

    def forget(self) -> None:
        """Forget the snapshot that was sent last: the evaluator has lost it."""
        self._evaluated = None
