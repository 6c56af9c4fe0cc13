"""Features of a kernel for shaping packets, found by the probe, and who may delay packets."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

Delay: TypeAlias = Literal["netem", "packets", "receiver"]
"""Means of delaying: the kernel, the box (`packets`), or the receiver of each message."""
DELAYS: tuple[Delay, ...] = get_args(Delay)
"""In the order of preference."""


@dataclass(frozen=True)
class Features:
    """Flags, true only if the kernel accepted the commands that shaping would use."""

    netem: bool = False
    """Delay, normally distributed jitter, and loss."""
    tbf: bool = False
    """Token bucket filter, for rates."""
    htb: bool = False
    """Hierarchical token bucket with classes, a filter into them, and a blackhole below one."""
    ifb: bool = False
    """Redirection of incoming packets to a queue, for downlinks."""
    nftables: bool = False
    """Rules with random numbers, to drop incoming and divert outgoing packets."""
    egress: bool = False
    """nftables hook below IP, to forward outgoing packets: Linux 5.16 and nft_fwd_netdev."""
    tun: bool = False
    """TAP devices, made through `/dev/net/tun`, for packets held by the box."""

    def plain(self) -> dict[str, bool]:
        """Return the flags as JSON-compatible values; `Features.read` is the inverse."""
        return asdict(self)

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Features":
        """Build features from the output of `plain`."""
        return cls(**{field.name: bool(plain[field.name]) for field in fields(cls)})
