"""What a parameter server puts on record: every update, pull and score, and their bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..codecs.accounting import accounting
from ..codecs.base import Codec
from ..layout import Layout
from ..log.writing import RunLog, microseconds
from ..vectors import Gradient
from . import wire
from .evaluations import Snapshot
from .messages import ModelReply, Patch, Reply, Score, Update
from .refusals import Refusals


@dataclass(frozen=True, eq=False, slots=True)
class Arrival:
    """A push, decoded and found to be honest, not yet applied."""

    update: Update
    gradient: Gradient


class Ledger:
    """Writes the run's log; its times count from `zero`, once that is known."""

    def __init__(self, log: RunLog, codec: Codec, layout: Layout, encrypted: bool) -> None:
        self.zero: float | None = None
        """When all had said hello, on the driver's clock."""
        self._log, self._codec, self._layout = log, codec, layout
        self._encrypted = encrypted
        self._accounting = accounting(codec)
        self._push_bytes = 0
        self._refusals = Refusals()

    def write(self, now: float, what: str, **facts: object) -> None:
        self._log.write(now - (self.zero or 0.0), what, **facts)

    def step(
        self, arrivals: Sequence[Arrival], divisors: Sequence[float], before: int, now: float
    ) -> None:
        """The updates of one step, which was taken at version `before`."""
        for version, (arrival, divisor) in enumerate(
            zip(arrivals, divisors, strict=True), before + 1
        ):
            self._update(arrival, version, before, divisor, now)

    def _update(
        self, arrival: Arrival, version: int, before: int, divisor: float, now: float
    ) -> None:
        update, count = arrival.update, self._codec.count(arrival.update.frames)
        pushed = wire.pushed(update, count, encrypted=self._encrypted)
        self._push_bytes += pushed.total
        self.write(
            now,
            "update",
            node=update.node,
            version=version,
            updates=version,
            staleness=before - update.version,
            divisor=divisor,
            loss=update.loss,
            compute=update.compute,
            entries=len(arrival.gradient.values),
            values=pushed.values,
            indices=pushed.indices,
            headers=pushed.headers,
            framing=pushed.framing,
            **self._paper(arrival.gradient),
        )

    def _paper(self, gradient: Gradient) -> dict[str, Any]:
        """What the codec's paper would have counted."""
        return {"paper": self._accounting(gradient, self._layout)} if self._accounting else {}

    def pull(self, node: str, model: ModelReply | Patch, now: float) -> None:
        size = wire.size(model, encrypted=self._encrypted)
        self.write(now, "pull", node=node, version=model.version, bytes=size)

    def refused(self, node: str, reason: str, now: float) -> None:
        """Count a refusal of a message of `node`, and write a record now and then."""
        if count := self._refusals.add(node, reason):
            self._refused(node, reason, count, now)

    def close(self, now: float) -> None:
        """Write down the refusals that were only counted."""
        for node, reason, count in self._refusals.rest():
            self._refused(node, reason, count, now)

    def _refused(self, node: str, reason: str, count: int, now: float) -> None:
        several = {"count": count} if count > 1 else {}
        self.write(now, "refused", node=node, reason=reason, **several)

    def unsent(self, node: str, reply: Reply, now: float) -> None:
        size = wire.size(reply, encrypted=self._encrypted)
        self.write(now, "unsent", node=node, message=_called(reply), bytes=size)

    @property
    def push_bytes(self) -> int:
        """Bytes of all pushes that were applied so far."""
        return self._push_bytes

    def score(self, score: Score, measured: Snapshot, now: float) -> None:
        """Book a score at the moment and the bytes of the version that was `measured`.

        `scored` is when the score came in, if that was later.
        """
        zero = self.zero or 0.0
        late = {"scored": microseconds(now - zero)} if now > measured.at else {}
        self.write(
            measured.at,
            "evaluation",
            version=score.version,
            updates=score.version,
            accuracy=score.accuracy,
            loss=score.loss,
            push_bytes=measured.push_bytes,
            **late,
        )


def _called(reply: Reply) -> str:
    if isinstance(reply, ModelReply | Patch):
        return f"model {reply.version}"
    return type(reply).__name__.lower()
