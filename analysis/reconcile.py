"""Do the bytes add up? What the application counted against what crossed the server's interface.

Application bytes are counted at the wire format, in both directions; the interface counts
frames. Between the two lie headers and acknowledgements, which can be estimated from the
sizes of an Ethernet frame and its TCP segment, and what cannot be known beforehand. Virtual
time counts by the very same sizes, so that there only what was cut off or on its way is left.
"""

from dataclasses import astuple, dataclass

from . import pushes, traffic
from .allowance import HEADERS, PAYLOAD
from .facts import fact
from .runs import Run

_PULL = 14
"""Application bytes of a pull's request, roughly: virtual time charges headers by the byte."""
_REQUEST = HEADERS + 64
"""The same in a small segment of its own."""
_CONNECTION = 1500
"""TCP's and ZMTP's handshakes with their hello, both ways, roughly."""


@dataclass(frozen=True)
class Sums:
    """What was counted in one direction, or in both, and the estimates between; in bytes."""

    application: int
    interface: int
    headers: int
    """Estimate: of the data, were every segment one full Ethernet frame."""
    acknowledgements: int
    """Estimate: of what came the other way, one for two segments."""
    requests: int
    """Estimate: one small segment a pull."""
    connections: int
    """Estimate: handshakes of TCP and ZMTP."""

    @property
    def difference(self) -> int:
        return self.interface - self.application

    @property
    def rest(self) -> int:
        """What the estimates leave: heartbeats, retransmissions, messages that a fault cut off.

        In virtual time there is neither of the former, but what was on its way at the end.
        Below zero where the kernel offloads segmentation: a segment of up to 64 kB passes
        the interface as one, and its many frames are counted with a single header.
        """
        estimates = self.headers + self.acknowledgements + self.requests + self.connections
        return self.difference - estimates

    def __add__(self, other: "Sums") -> "Sums":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Sums(*(one + two for one, two in pairs))


@dataclass(frozen=True)
class Reconciliation:
    """Both directions at the server's interface: `rx` holds the pushes, `tx` the models."""

    rx: Sums
    tx: Sums

    @property
    def both(self) -> Sums:
        return self.rx + self.tx

    @property
    def data_a_header(self) -> float:
        """Bytes of models for each header that was counted with them; a full frame has 1448."""
        headers = self.tx.difference - self.tx.acknowledgements - self.tx.connections
        return self.tx.application * HEADERS / headers if headers > 0 else float("inf")


@fact
def reconcile(run: Run) -> Reconciliation | None:
    """None if a side of it is not known: no traffic at the server, or no bytes counted."""
    interface = _interface(run)
    pulls = run.records("pull")
    push = int(pushes.by_kind(run).sum())
    pull = int(pulls["bytes"].sum()) if len(pulls) else _told(run)
    # a model that was not sent has a `pull` like others
    pull -= int(run.records("unsent")["bytes"].sum())
    if interface is None or push + pull == 0:
        return None
    hellos = 0 if run.virtual else len(run.records("hello")) * _CONNECTION // 2
    requests = len(pulls) * (_PULL if run.virtual else _REQUEST)
    rx, tx = interface
    return Reconciliation(
        rx=Sums(push, rx, _headers(push), _replies(run, pull), requests, hellos),
        tx=Sums(pull, tx, _headers(pull), _replies(run, push), 0, hellos),
    )


def _headers(data: int) -> int:
    return data * HEADERS // PAYLOAD


def _replies(run: Run, data: int) -> int:
    """Acknowledgements of so much data."""
    return 0 if run.manifest.get("tcp") == "ideal" else _headers(data) // 2


def _told(run: Run) -> int:
    return sum(int(run.summary.get(key) or 0) for key in ("pull_bytes", "evaluation_pull_bytes"))


def _interface(run: Run) -> tuple[int, int] | None:
    rx, tx = (run.summary.get(key) for key in ("server_rx_bytes", "server_tx_bytes"))
    if rx or tx:
        return int(rx or 0), int(tx or 0)
    counted = traffic.totals(run)
    if "server" not in counted.index:
        return None
    return int(counted.loc["server", "rx"]), int(counted.loc["server", "tx"])
