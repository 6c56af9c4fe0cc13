"""Do the bytes add up? What the application counted against what crossed the server's interface.

Application bytes are counted at the wire format, in both directions; the interface counts
frames. Between the two lie headers and acknowledgements, which can be estimated from the
sizes of an Ethernet frame and its TCP segment, and what cannot be known beforehand.
"""

from dataclasses import dataclass

from . import pushes, traffic
from .runs import Run

PAYLOAD = 1448
"""Application bytes in a full TCP segment, with timestamps."""
HEADERS = 66
"""Ethernet, IPv4 and TCP with timestamps: 14 + 20 + 32 bytes a segment."""

_REQUEST = HEADERS + 64
"""A pull's request: one small segment."""
_CONNECTION = 1500
"""TCP's and ZMTP's handshakes with their hello, both ways, roughly."""


@dataclass(frozen=True)
class Reconciliation:
    """Both sums and the estimates between them, in bytes over both directions."""

    push: int
    pull: int
    interface: int
    """rx + tx at the server's interface."""
    headers: int
    """Estimate: of data, were every segment one full Ethernet frame."""
    acknowledgements: int
    """Estimate: one for two segments."""
    requests: int
    connections: int

    @property
    def application(self) -> int:
        return self.push + self.pull

    @property
    def difference(self) -> int:
        return self.interface - self.application

    @property
    def share(self) -> float:
        """The difference as a fraction of the application's bytes."""
        return self.difference / self.application

    @property
    def rest(self) -> int:
        """What the estimates leave: heartbeats, retransmissions, messages that a fault cut off.

        Below zero where the kernel offloads segmentation: a segment of up to 64 kB passes
        the interface as one, and its many frames are counted with a single header.
        """
        estimates = self.headers + self.acknowledgements + self.requests + self.connections
        return self.difference - estimates


def reconcile(run: Run) -> Reconciliation | None:
    """None if a side of it is not known: no traffic at the server, or no bytes counted."""
    interface = _interface(run)
    pulls = run.records("pull")
    push = int(pushes.by_kind(run).sum())
    pull = int(pulls["bytes"].sum()) if len(pulls) else _told(run)
    if interface is None or push + pull == 0:
        return None
    return Reconciliation(
        push=push,
        pull=pull,
        interface=interface,
        headers=(push + pull) * HEADERS // PAYLOAD,
        acknowledgements=(push + pull) * HEADERS // (2 * PAYLOAD),
        requests=len(pulls) * _REQUEST,
        connections=len(run.records("hello")) * _CONNECTION,
    )


def _told(run: Run) -> int:
    return sum(int(run.summary.get(key) or 0) for key in ("pull_bytes", "evaluation_pull_bytes"))


def _interface(run: Run) -> int | None:
    told = [run.summary.get(key) for key in ("server_rx_bytes", "server_tx_bytes")]
    if None not in told:
        return int(sum(told))
    counted = traffic.totals(run)
    return int(counted.loc["server"].sum()) if "server" in counted.index else None
