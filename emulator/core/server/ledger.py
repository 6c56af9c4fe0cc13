"""The parameter server's writer of records: updates, pulls, scores, refusals, and their bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from ...codecs.base import Codec, accounting
from ...layout import Kind, Layout
from ...log.lines import RunLog, microseconds
from ...log.records import (
    ActivationsRecord,
    DivergedRecord,
    EvaluationRecord,
    GoodbyeRecord,
    HelloRecord,
    LeftOutRecord,
    PullRecord,
    QuarantineRecord,
    RefusedRecord,
    StartRecord,
    StopRecord,
    UnmeasuredRecord,
    UnsentRecord,
    UpdateRecord,
)
from ...plugins.stateful import Held, Stateful
from ...synchronization.base import LeftOutCount
from ...vectors import Gradient
from .. import wire
from ..cut.cut_exchange import Passed
from ..wire.messages import (
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    PullReply,
    Replies,
    Reply,
    Score,
    Update,
    UpdateSegment,
)
from ..zmtp import PLAIN, Form
from .evaluations import Snapshot
from .pulled_versions import GroupUpdates
from .refusal_counts import Refusals, Tally
from .seen_pushes import SeenPushes


class Arrival(Held, msgspec.Struct, frozen=True, eq=False):
    """A push that is decoded and checked, and not yet applied."""

    update: Update | UpdateSegment
    """The push, or the last piece of one that came in pieces."""
    gradient: Gradient
    earlier: tuple[UpdateSegment, ...] = ()
    """The pieces before the last, in the order of arrival; of a server with shards, the other
    parts."""
    skew: float | None = None
    """Seconds between the arrivals of the first and the last part, at a server with shards."""


class UnsentAnswer(NamedTuple):
    """An answer that could not leave, in one message or in segments."""

    node: str
    """Receiver of the answer."""
    words: str
    """The answer in a few words, as `model 120`."""
    size: int
    """Bytes of the messages on the wire."""
    messages: int


class Ledger(Stateful):
    """Writes the server's records. Their times count from `zero`, or are the clock's before it."""

    STATE = (
        *("zero", "_push_bytes", "_refusals", "_unused", "_repeated", "_unsent"),
        *("_applied", "_again", "_kept"),
    )

    def __init__(self, log: RunLog, codec: Codec, layout: Layout, form: Form = PLAIN) -> None:
        self.zero: float | None = None
        """Reading of the driver's clock when the last member said hello; None before."""
        self._log, self._codec, self._layout = log, codec, layout
        self._form = form
        self._accounting = accounting(codec)
        self._push_bytes = 0
        self._refusals = Refusals()
        # nodes that lost the model sent last and made nothing of it, and the evaluator; the server
        # knows the version of all others, so a large fleet takes no memory here
        self._unused: set[str] = set()
        self._repeated: dict[str, tuple[int, Tally]] = {}  # their further pulls, with the version
        self._unsent: dict[str, Tally] = {}
        self._applied: dict[str, int] = {}  # pushes with a ticket that were applied, by node
        self._again: dict[str, int] = {}  # pushes that are on record already, by node
        self._kept = SeenPushes()  # pushes that came back with a state, of the nodes in `_again`

    @property
    def push_bytes(self) -> int:
        """Bytes of the applied pushes on the wire."""
        return self._push_bytes

    # -- the run ---------------------------------------------------------------------------------

    def hello(self, node: str, incarnation: int, now: float) -> None:
        self.used(node)  # an earlier process may have
        self._log.write(HelloRecord(self._at(now), node, incarnation))

    def goodbye(self, node: str, now: float) -> None:
        self._log.write(GoodbyeRecord(self._at(now), node))

    def start(self, devices: int, now: float) -> None:
        self._log.write(StartRecord(self._at(now), devices, zero=now))

    def close(
        self,
        now: float,
        unmeasured: list[int],
        left_out: Iterable[LeftOutCount],
        reason: str,
        detail: str,
    ) -> None:
        """Write the records that end a run: versions without a score, devices left out, refusals,
        and `stop`."""
        at = self._at(now)
        if unmeasured:
            self._log.write(UnmeasuredRecord(at, unmeasured))
        self.left_out(left_out, now)
        for node in list(self._repeated):
            self._end_repeated(node, at)
        for node, tally in self._unsent.items():
            self._write_unsent(node, tally, at)
        for node, refusal, count in self._refusals.rest():
            self._log.write(RefusedRecord(at, node, refusal, count))
        self._log.write(StopRecord(at, reason, detail))

    # -- pushes and scores -----------------------------------------------------------------------

    def step(
        self,
        arrivals: Sequence[Arrival],
        divisors: Sequence[float],
        before: int,
        now: float,
        groups: GroupUpdates | None = None,
    ) -> None:
        """Write a record for each update of a step that was taken at version `before`.

        `divisors` holds the mean divisor of each of the `arrivals`. Staleness counts updates, or
        steps of compute groups if there are `groups`.
        """
        at = self._at(now)
        stale = [before - arrival.update.version for arrival in arrivals]
        if groups:
            stale = groups.stepped([arrival.update.node for arrival in arrivals])
        for version, (arrival, divisor, staleness) in enumerate(
            zip(arrivals, divisors, stale, strict=True), before + 1
        ):
            group = groups.group(arrival.update.node) if groups else None
            self._update(arrival, version, staleness, divisor, at, group)

    def applied(self) -> dict[str, int]:
        """Return the number of pushes with a ticket that were applied, by node."""
        return dict(self._applied)

    def recover(self, booked: Mapping[str, int], kept: dict[str, Any]) -> None:
        """Book no bytes for pushes that came back with a state and are on record already.

        `booked` is the number of records, by node, of updates since the state; `kept` has the
        pushes of the state, as `SeenPushes.plain`. The pushes of a node are applied in their order.
        A node without such a record keeps the count and the pushes of its recovery before: the
        state may have later pushes of the node, of which no record tells.
        """
        for node, count in booked.items():
            self._again[node] = max(count, self._again.get(node, 0))
        own = {node: pushes for node, pushes in kept.items() if node in booked}
        self._kept.restore({**self._kept.plain(), **own})

    def _update(
        self,
        arrival: Arrival,
        version: int,
        staleness: int,
        divisor: float,
        at: float,
        group: int | None,
    ) -> None:
        update, gradient = arrival.update, arrival.gradient
        pushed = self._pushed(update)
        if arrival.earlier:
            pushed = wire.total([*map(self._pushed, arrival.earlier), pushed])
        self._push_bytes += pushed.total
        again = self._is_again(arrival)
        if again:
            pushed = wire.Pushed(0, 0, 0, 0)
        self._log.write(
            UpdateRecord(
                at,
                node=update.node,
                version=version,
                updates=version,
                staleness=staleness,
                divisor=divisor,
                loss=update.loss,
                compute=update.compute,
                entries=len(gradient.values),
                values=pushed.values,
                indices=pushed.indices,
                headers=pushed.headers,
                framing=pushed.framing,
                paper=None if again else self._paper(gradient),
                segments=1 + len(arrival.earlier),
                group=group,
                again=again,
                skew=None if arrival.skew is None else microseconds(arrival.skew),
            )
        )

    def _is_again(self, arrival: Arrival) -> bool:
        """Count the push; return whether it came back with the server's state and is on record
        already."""
        node = arrival.update.node
        if arrival.update.ticket is not None:
            self._applied[node] = self._applied.get(node, 0) + 1
        if not self._again.get(node):
            return False
        if not all(map(self._kept.knows, (*arrival.earlier, arrival.update))):
            del self._again[node]  # nor does the state have a later one
            return False
        self._again[node] -= 1
        return True

    def _pushed(self, piece: Update | UpdateSegment) -> wire.Pushed:
        count = self._codec.count(piece.frames)
        return wire.pushed(piece, count, self._form)

    def _paper(self, gradient: Gradient) -> Mapping[Kind, float] | None:
        """Return the bytes of `gradient` as the codec's paper counts them, by kind of layer."""
        return self._accounting(gradient, self._layout) if self._accounting else None

    def passed(self, passes: Iterable[Passed], now: float) -> None:
        """Write a record for each of the `passes` through the server's layers."""
        for passed in passes:
            self._log.write(
                ActivationsRecord(
                    self._at(now),
                    node=passed.node,
                    version=passed.version,
                    server_version=passed.server_version,
                    staleness=passed.staleness,
                    rows=passed.rows,
                    up=passed.up,
                    down=passed.down,
                    loss=passed.loss,
                )
            )

    def diverged(self, node: str, version: int, now: float) -> None:
        self.used(node)
        self._log.write(DivergedRecord(self._at(now), node, version))

    def score(self, score: Score, measured: Snapshot, now: float) -> None:
        """Write a score under the time and the bytes of the version that was `measured`.

        `scored` is when the score came in, if that was later.
        """
        self.used(score.node)
        self._log.write(
            EvaluationRecord(
                self._at(measured.at),
                version=score.version,
                updates=score.version,
                accuracy=score.accuracy,
                loss=score.loss,
                error=score.error,
                push_bytes=measured.push_bytes,
                scored=microseconds(self._at(now)) if now > measured.at else None,
            )
        )

    def unscored(self, kept: Snapshot) -> EvaluationRecord:
        """Return the record of the measurement of `kept`, as `score` writes it, without a score."""
        return EvaluationRecord(
            microseconds(self._at(kept.at)),
            version=kept.version,
            updates=kept.version,
            accuracy=None,
            loss=None,
            push_bytes=kept.push_bytes,
        )

    # -- replies and refusals --------------------------------------------------------------------

    def used(self, node: str) -> None:
        """Note that `node` has made something of the model that it was sent: its next pull has a
        record."""
        self._unused.discard(node)

    def unused(self, node: str) -> None:
        """Note that `node` has made nothing of the model that it was sent: its next pull counts as
        repeated."""
        self._unused.add(node)

    def pull(
        self, node: str, replies: Sequence[PullReply], now: float, *, again: bool = False
    ) -> None:
        """Write a record of a pull that was answered with `replies`, all of one version.

        If `node` has made nothing of the model that it was sent before, as `again` says or `unused`
        did, the pull is counted, and a record is written when the count says so.
        """
        size = sum(wire.size(reply, self._form) for reply in replies)
        at, version, segments = self._at(now), replies[0].version, len(replies)
        if not again and node not in self._unused:
            self._end_repeated(node, at)
            self._log.write(PullRecord(at, node, version, size, segments=segments))
            return
        _, tally = self._repeated.get(node, (version, Tally()))
        self._repeated[node] = version, tally
        if tally.add(size=size, messages=segments):
            self._write_repeated(node, at)

    def _end_repeated(self, node: str, at: float) -> None:
        """Write a record of the repeated pulls of `node` that have none, and forget the count."""
        if node in self._repeated:
            self._write_repeated(node, at)
            del self._repeated[node]

    def _write_repeated(self, node: str, at: float) -> None:
        version, tally = self._repeated[node]
        count, size, segments = tally.take()
        if count:
            self._log.write(PullRecord(at, node, version, size, segments // count, count))

    def unsent_answers(self, unsent: Replies) -> Iterator[UnsentAnswer]:
        """Yield the answers in `unsent`: each message, or an answer in segments as a whole."""
        for (node, _), group in groupby(unsent, key=_whole):
            replies = [reply for _, reply in group]
            size = sum(wire.size(reply, self._form) for reply in replies)
            yield UnsentAnswer(node, _described(replies[0], replies[-1]), size, len(replies))

    def unsent(self, answers: Iterable[UnsentAnswer], now: float) -> None:
        """Count each of the `answers`; write a record when the count of its node says so."""
        for node, words, size, messages in answers:
            tally = self._unsent.setdefault(node, Tally())
            if tally.add(words, size, messages):
                self._write_unsent(node, tally, self._at(now))

    def _write_unsent(self, node: str, tally: Tally, at: float) -> None:
        count, size, messages = tally.take()
        if count:
            self._log.write(UnsentRecord(at, node, tally.words, size, messages, count))

    def left_out(self, counts: Iterable[LeftOutCount], now: float) -> None:
        """Write a record for each of the `counts` of devices that steps were made without."""
        for count in counts:
            self._log.write(LeftOutRecord(self._at(now), *count))

    def quarantine(self, node: str, until: float | None, now: float) -> None:
        """Write a record of a quarantine that begins and lasts `until` then, or that has ended."""
        end = None if until is None else microseconds(self._at(until))
        self._log.write(QuarantineRecord(self._at(now), node, end))

    def refused(self, node: str, reason: str, now: float) -> None:
        """Count a refusal of a message of `node`; write a record when its count says so."""
        if count := self._refusals.add(node, reason):
            self._log.write(RefusedRecord(self._at(now), node, reason, count))

    def _at(self, now: float) -> float:
        """Return the emulated time of a reading of the driver's clock."""
        return now - (self.zero or 0.0)


def _whole(sent: tuple[str, Reply]) -> tuple[str, object]:
    """Return the receiver and the answer to which a reply belongs: of a segment, the ticket."""
    node, reply = sent
    return node, reply.ticket if isinstance(reply, ModelSegment | PatchSegment) else reply


def _described(reply: Reply, last: Reply) -> str:
    """Return a reply in a few words, as `model 120`, or the segments from `reply` to `last` of an
    answer, as `model 120 layers 2-5`."""
    if isinstance(reply, ModelReply | Patch):
        return f"model {reply.version}"
    if isinstance(reply, ModelSegment | PatchSegment) and isinstance(
        last, ModelSegment | PatchSegment
    ):
        return f"model {reply.version} layers {reply.segment[0]}-{last.segment[1]}"
    return type(reply).__name__.lower()
