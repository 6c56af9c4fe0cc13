"""The reconciliation of the application's bytes with the bytes at the server's interface.

Application bytes are counted at the wire format, in both directions; the interface counts frames.
The difference is headers and acknowledgements, estimated from the sizes of an Ethernet frame and
its TCP segment, and a rest. Virtual time counts by the same sizes, so its rest is only messages
that were cut off, or on their way at the end.
"""

from dataclasses import astuple, dataclass
from typing import Any

from ..reading.runs import Run, fact
from . import traffic
from .allowance import HEADERS, PAYLOAD
from .message_bytes import cut_bytes, pull_counts, pushed_by_kind

_PULL = 14
"""Approximate bytes of a pull's request in virtual time, which charges headers by the byte."""
_REQUEST = HEADERS + 64
"""Approximate bytes of a pull's request in containers: a small segment of its own."""
_CONNECTION = 1500
"""Approximate bytes of the handshakes of TCP and ZMTP and the hello, in both directions."""


@dataclass(frozen=True)
class Sums:
    """The bytes counted in one direction, or in both, and estimates of their difference."""

    application: int
    """Bytes counted by the application."""
    interface: int
    """Bytes counted at the server's interface."""
    headers: int
    """Estimated headers of the data, if every segment were a full Ethernet frame."""
    acknowledgements: int
    """Estimated acknowledgements of the data in the other direction, one for two segments."""
    requests: int
    """Estimated requests, one small segment for each pull."""
    connections: int
    """Estimated handshakes of TCP and ZMTP."""

    @property
    def difference(self) -> int:
        return self.interface - self.application

    @property
    def rest(self) -> int:
        """The difference without the estimates: heartbeats, retransmissions, messages cut off.

        In virtual time the rest is messages that were cut off, or on their way at the end. The rest
        is negative if the kernel offloads segmentation: a segment of up to 64 kB passes the
        interface in one piece, and all its frames count with a single header.
        """
        estimates = self.headers + self.acknowledgements + self.requests + self.connections
        return self.difference - estimates

    def __add__(self, other: "Sums") -> "Sums":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Sums(*(mine + theirs for mine, theirs in pairs))


@dataclass(frozen=True)
class Reconciliation:
    """The sums of both directions at the server's interface.

    Pushes and activations are in `rx`, models and the answers to activations in `tx`.
    """

    rx: Sums
    tx: Sums

    @property
    def both(self) -> Sums:
        return self.rx + self.tx

    @property
    def data_a_header(self) -> float:
        """Bytes of models for every header counted in `tx`; 1448 for full frames."""
        headers = self.tx.difference - self.tx.acknowledgements - self.tx.connections
        return self.tx.application * HEADERS / headers if headers > 0 else float("inf")


@fact
def reconcile(run: Run) -> Reconciliation | None:
    """Return the reconciliation of `run`.

    None without traffic at the server's interface or without bytes of the application.
    """
    interface = _interface(run)
    models = run.records("pull")
    push = int(pushed_by_kind(run).sum())
    pull = int(models["bytes"].sum()) if len(models) else _pulled(run)
    # a model that could not be sent has a `pull` record too
    pull -= int(run.records("unsent")["bytes"].sum())
    crossed = cut_bytes(run)
    push, pull = push + crossed.up, pull + crossed.down
    if interface is None or push + pull == 0:
        return None
    hellos = 0 if run.virtual else len(run.records("hello")) * _CONNECTION // 2
    requests = int(pull_counts(models).sum()) * (_PULL if run.virtual else _REQUEST)
    rx, tx = interface
    return Reconciliation(
        rx=Sums(push, rx, _headers(push), _replies(run, pull), requests, hellos),
        tx=Sums(pull, tx, _headers(pull), _replies(run, push), 0, hellos),
    )


def _headers(data: int) -> int:
    return data * HEADERS // PAYLOAD


def _replies(run: Run, data: int) -> int:
    """Return the estimated bytes of the acknowledgements of `data` bytes; none on ideal links."""
    return 0 if run.manifest.get("tcp") == "ideal" else _headers(data) // 2


def _pulled(run: Run) -> int:
    """Return the pulled bytes by the summary, with the evaluator's."""
    return sum(int(run.summary.get(key) or 0) for key in ("pull_bytes", "evaluation_pull_bytes"))


def _interface(run: Run) -> tuple[int, int] | None:
    rx, tx = (run.summary.get(key) for key in ("server_rx_bytes", "server_tx_bytes"))
    if rx or tx:
        return int(rx or 0), int(tx or 0)
    counted = traffic.totals(run)
    if "server" not in counted.index:
        return None
    own: Any = counted.loc["server"]
    return int(own["rx"]), int(own["tx"])
