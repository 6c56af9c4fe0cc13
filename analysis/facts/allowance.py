"""Bounds on the bytes that the server's interface may count beside the bytes of the messages.

The interface counts frames. Headers, acknowledgements, heartbeats and handshakes follow from the
number of messages and from the time. Messages that were cut off, or on their way at the end, follow
from the faults and from the last pull of each device. A count outside the bounds is unexplained.
"""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..reading.runs import Run
from .devices import devices, loss
from .faults import outages
from .message_bytes import KINDS, device_pulls, pull_counts

PAYLOAD = 1448
"""Application bytes in a full TCP segment, with timestamps."""
HEADERS = 66
"""Header bytes of a segment: Ethernet 14, IPv4 20, TCP with timestamps 32."""

_REQUEST = 128
"""Largest size in bytes of an encrypted message other than a model or an update."""
_HEARTBEAT = 2.0
"""Seconds between two pings of a node."""
_BEAT = 2 * HEADERS + 64
"""Bytes of an encrypted ping, or of its answer, with the acknowledgement of the other."""
_ECHO, _ECHOES = 82, 2.0
"""Bytes of an echo that measures a link's delay, and the largest number of them in a second."""
_CONNECTION = 4000
"""Bytes of a new connection in one direction: handshakes of TCP and ZMTP (CURVE's is the longest),
ARP, and repeated hellos."""
_QUICK = 16
"""Number of segments that Linux acknowledges one by one on a new connection."""
_FRINGE = 0.02
"""Share of the bytes allowed for events without a record: retransmissions without a loss,
broadcasts."""


@dataclass(frozen=True)
class Allowance:
    """Bounds on the bytes beside the messages in one direction."""

    least: int
    """Lower bound; negative if some of the counted messages may not have passed the interface."""
    most: int
    """Upper bound."""

    def excess(self, difference: int) -> int:
        """Return the bytes of `difference` outside the bounds: positive above, negative below."""
        return max(0, difference - self.most) + min(0, difference - self.least)


@dataclass(frozen=True)
class _Way:
    """The messages in a direction: number, bytes, and loss."""

    data: int
    """Bytes of all messages."""
    count: int
    """Number of messages."""
    largest: int
    """Bytes of the largest message."""
    loss: float
    """Highest share of packets that a link loses in this direction."""

    @property
    def headers(self) -> float:
        """Upper bound on header bytes: every message ends in a segment of its own."""
        return HEADERS * (self.data / PAYLOAD + self.count)

    @property
    def answers(self) -> float:
        """Upper bound on bytes of acknowledgements, one for every two full segments and for every
        end of a message."""
        return HEADERS * (self.data / (2 * PAYLOAD) + self.count)

    @property
    def again(self) -> float:
        """Upper bound on retransmitted bytes: lost segments, lost retransmissions, and a fringe."""
        return (2 * self.loss + _FRINGE) * self.data


def allowances(run: Run) -> tuple[Allowance, Allowance] | None:
    """Return the bounds for `rx`, with the pushes, and for `tx`, with the models.

    None if the records of `run` have no push or no pull.
    """
    updates, models = run.records("update"), run.records("pull")
    if updates.empty or models.empty:
        return None
    crossed = run.records("activations")
    pushed = updates[list(KINDS)].sum(axis=1)
    up, down = (crossed[way].astype(float) for way in ("up", "down"))
    push = _way([pushed, up], [_ones(updates), _ones(crossed)], run, "up")
    pull = _way([models["bytes"], down], [pull_counts(models), _ones(crossed)], run, "down")
    struck = _struck(run)
    # a model counts as sent even if a fault or the end of the run kept it from the interface
    missing = struck * pull.largest + _under_way(run) + int(run.records("unsent")["bytes"].sum())
    # updates that crossed the interface without a record: after the end, refused, unheard, cut off
    lost = _lost_passes(run)
    unheard = int(run.records("quarantine")["until"].notna().sum())  # each may cost an update
    uncounted = push.largest * (len(devices(run)) + struck + run.refused + unheard + lost)
    small = HEADERS * (pull.count + push.count) + _beside(run)
    asked = pull.count * (_REQUEST + HEADERS)
    # with flipped bits, the server's word that the device has to ask again
    words = 0 if run.records("garble").empty else run.refused * (_REQUEST + HEADERS)
    least = _exact(run, push, pull, missing) if run.virtual else (0.0, -missing)
    most = (
        push.headers + push.again + uncounted + pull.answers + asked + small,
        pull.headers + pull.again + (struck + lost) * pull.largest + push.answers + small + words,
    )
    rx, tx = map(_rounded, least, most)
    return rx, tx


def _struck(run: Run) -> int:
    """Return how often an outage interrupted a device or the evaluator.

    An outage of the server interrupts all of them.
    """
    of_server = int((outages(run)["node"] == "server").sum())
    return len(outages(run)) + of_server * len(devices(run))


def _rounded(least: float, most: float) -> Allowance:
    return Allowance(math.floor(least), math.ceil(most))


def _exact(run: Run, push: _Way, pull: _Way, missing: int) -> tuple[float, float]:
    """Return the lower bounds for a run in virtual time, which counts every header byte."""
    header = HEADERS / PAYLOAD
    answer = 0.0 if run.manifest.get("tcp") == "ideal" else header / 2
    return (
        header * push.data + answer * (pull.data - missing),
        header * pull.data + answer * push.data - (1 + header) * missing,
    )


def _way(
    sizes: "list[pd.Series[Any]]", counts: "list[pd.Series[float]]", run: Run, way: str
) -> _Way:
    """Return the messages of records with these `sizes` in the direction `way`, `up` or `down`.

    `counts`: how many messages of one size share each size of `sizes`, which is their sum.
    """
    losses = [loss(getattr(device, way)) for device in devices(run)]
    size, count = pd.concat([each.astype(float) for each in sizes]), pd.concat(counts)
    return _Way(
        int(size.sum()), int(count.sum()), int((size / count).max()), max(losses, default=0.0)
    )


def _ones(records: pd.DataFrame) -> "pd.Series[float]":
    return pd.Series(1.0, index=records.index)


def _under_way(run: Run) -> int:
    """Return the bytes of models, and of answers to activations, without a later update.

    The run's end may have cut them off.
    """
    updates = run.records("update")
    updated = updates.groupby("node")["at"].max()
    if _gives_models_ahead(run):
        # an update that is recorded after the last model may be of the model before
        models = run.records("pull")
        asked = pull_counts(models).groupby(models["node"]).sum()
        made = updates["node"].value_counts().reindex(asked.index).fillna(0)
        updated = updated[(asked <= made).reindex(updated.index).fillna(True).astype(bool)]
    scored = run.records("evaluation")[["at"]].max().rename({"at": "evaluator"})
    followed = pd.concat([updated, scored])
    sent = run.records("pull").groupby("node").last()
    answered = run.records("activations").groupby("node").last()
    return _without(followed, sent, "bytes") + _without(followed, answered, "down")


def _gives_models_ahead(run: Run) -> bool:
    """Return whether a device gets its next model before its push is part of a step."""
    chosen = run.training.get("synchronization")
    return (chosen.get("kind") if isinstance(chosen, dict) else chosen) == "softsync"


def _lost_passes(run: Run) -> int:
    """Return the mini-batches of a cut model that were begun and have no record of activations.

    Their messages may have crossed the interface: where labels stay on the devices, an answer to
    the outputs may come too late.
    """
    passed = len(run.records("activations"))
    asked = int(pull_counts(device_pulls(run)).sum())
    return max(0, asked - passed) if passed else 0


def _without(followed: "pd.Series[Any]", sent: pd.DataFrame, size: str) -> int:
    """Return the bytes of the last messages in `sent`, a row for each node, that nothing followed.

    `followed` holds the time of the last message of each node, `size` is the column of the bytes.
    """
    waiting = sent["at"] >= followed.astype(float).reindex(sent.index).fillna(float("-inf"))
    return int(sent.loc[waiting, size].sum())


def _beside(run: Run) -> float:
    """Return the bytes in one direction of handshakes, for each hello and fault, of heartbeats and
    of the echoes of shaped links."""
    if run.virtual:
        return _CONNECTION * len(run.records("hello"))
    times = run.records("traffic")["at"]
    span = times.max() - times.min() if len(times) else run.end
    nodes = len(devices(run)) + 1
    connections = len(run.records("hello")) + len(outages(run))
    echoing = run.records("link")["node"].nunique()
    echoes = echoing * _ECHO * (_ECHOES * span + 1)
    return _CONNECTION * connections + nodes * _BEAT * (span / _HEARTBEAT + 1) + echoes
