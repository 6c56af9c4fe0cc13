"""What a kernel can do to packets, as the probe found it."""

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Features:
    """Each is true only if the commands that we would give were taken."""

    netem: bool = False
    """Delay, normally distributed jitter, and loss."""
    tbf: bool = False
    htb: bool = False
    """With classes, a filter into them, and a blackhole below one."""
    ifb: bool = False
    """With the redirection of what comes in, so that a downlink can queue."""
    nftables: bool = False
    """With random numbers, to drop what comes in and divert what goes out."""
    egress: bool = False
    """nftables with a hook below IP, to forward what goes out: Linux 5.16 and nft_fwd_netdev."""

    def plain(self) -> dict[str, bool]:
        """As JSON holds it; `Features.read` is its inverse."""
        return asdict(self)

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Features":
        return cls(**{field.name: bool(plain[field.name]) for field in fields(cls)})
