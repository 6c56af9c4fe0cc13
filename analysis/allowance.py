"""The bytes that the server's interface may count beside those of the messages: at least, at most.

The interface counts frames. Headers, acknowledgements, heartbeats and handshakes follow from the
number of messages and from the time; what was cut off or on its way at the end follows from the
faults and from the last pull of each device. What lies outside is not explained.
"""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .devices import devices, loss
from .faults import outages
from .pushes import KINDS
from .runs import Run

PAYLOAD = 1448
"""Application bytes in a full TCP segment, with timestamps."""
HEADERS = 66
"""Ethernet, IPv4 and TCP with timestamps: 14 + 20 + 32 bytes a segment."""

_REQUEST = 128
"""Bytes of a message that is neither a model nor an update, encrypted, at most."""
_HEARTBEAT = 2.0
"""Seconds between two pings of a node."""
_BEAT = 2 * HEADERS + 64
"""A ping or its answer, and the acknowledgement of the other, encrypted."""
_CONNECTION = 4000
"""One way: handshakes of TCP and ZMTP (CURVE's is the longest), ARP, and hellos said again."""
_QUICK = 16
"""Segments that Linux acknowledges one by one when a connection is new."""
_FRINGE = 0.02
"""Share of the bytes for what follows from nothing: retransmissions without a loss, broadcasts."""


@dataclass(frozen=True)
class Allowance:
    """Bytes beside the messages in one direction."""

    least: int
    """Below zero where messages were counted that may not have passed."""
    most: int

    def excess(self, difference: int) -> int:
        """Return by how much `difference` lies outside: above zero over it, below zero under it."""
        return max(0, difference - self.most) + min(0, difference - self.least)


@dataclass(frozen=True)
class _Way:
    """The messages that went one way."""

    data: int
    """Bytes of all of them."""
    count: int
    largest: int
    loss: float

    @property
    def headers(self) -> float:
        """At most: every message ends in a segment of its own."""
        return HEADERS * (self.data / PAYLOAD + self.count)

    @property
    def answers(self) -> float:
        """Acknowledgements at most: one for two full segments, one for the end of each message."""
        return HEADERS * (self.data / (2 * PAYLOAD) + self.count)

    @property
    def again(self) -> float:
        """Retransmissions: of what was lost, and of what was lost of these."""
        return (2 * self.loss + _FRINGE) * self.data


def allowances(run: Run) -> tuple[Allowance, Allowance] | None:
    """Return those of rx, which holds the pushes, and of tx, which holds the models.

    None if the records do not say: no push or no pull is among them.
    """
    updates, pulls = run.records("update"), run.records("pull")
    if updates.empty or pulls.empty:
        return None
    push = _way(updates[list(KINDS)].sum(axis=1), run, "up")
    pull = _way(pulls["bytes"], run, "down")
    struck = len(outages(run))
    # models that were counted when they were sent, and may not have come through
    missing = struck * pull.largest + _under_way(run) + int(run.records("unsent")["bytes"].sum())
    # updates that were not counted: they came after the end, were refused, or were cut off
    uncounted = push.largest * (len(devices(run)) + struck + run.refused)
    small = HEADERS * (pull.count + push.count) + _beside(run)
    asked = pull.count * (_REQUEST + HEADERS)
    least = _exact(run, push, pull, missing) if run.virtual else (0.0, -missing)
    most = (
        push.headers + push.again + uncounted + pull.answers + asked + small,
        pull.headers + pull.again + struck * pull.largest + push.answers + small,
    )
    rx, tx = map(_rounded, least, most)
    return rx, tx


def _rounded(least: float, most: float) -> Allowance:
    return Allowance(math.floor(least), math.ceil(most))


def _exact(run: Run, push: _Way, pull: _Way, missing: int) -> tuple[float, float]:
    """Virtual time counts headers and acknowledgements by the byte, and spares none of them."""
    header = HEADERS / PAYLOAD
    answer = 0.0 if run.manifest.get("tcp") == "ideal" else header / 2
    return (
        header * push.data + answer * (pull.data - missing),
        header * pull.data + answer * push.data - (1 + header) * missing,
    )


def _way(sizes: "pd.Series[Any]", run: Run, way: str) -> _Way:
    losses = [loss(getattr(device, way)) for device in devices(run)]
    return _Way(int(sizes.sum()), len(sizes), int(sizes.max()), max(losses, default=0.0))


def _under_way(run: Run) -> int:
    """Bytes of the models that no update has followed: the run's end may have cut them off."""
    updated = run.records("update").groupby("node")["at"].max()
    scored = run.records("evaluation")[["at"]].max().rename({"at": "evaluator"})
    followed = pd.concat([updated, scored])
    pulls = run.records("pull").groupby("node").last()
    waiting = pulls["at"] >= followed.reindex(pulls.index).fillna(float("-inf"))
    return int(pulls.loc[waiting, "bytes"].sum())


def _beside(run: Run) -> float:
    """Bytes one way of what is no message: handshakes for each hello and cut, and heartbeats."""
    if run.virtual:
        return _CONNECTION * len(run.records("hello"))
    times = run.records("traffic")["at"]
    span = times.max() - times.min() if len(times) else run.end
    nodes = len(devices(run)) + 1
    connections = len(run.records("hello")) + len(outages(run))
    return _CONNECTION * connections + nodes * _BEAT * (span / _HEARTBEAT + 1)
