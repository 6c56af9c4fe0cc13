"""Who serves which part of a link: the kernel where it can, else the next best.

    rate     tbf: it cuts the 64 KB packets that TCP hands down into frames, so a small message
             takes its time too. htb lets them through whole: right in the long run only.
    delay    netem, else the receiver holds each message back: TCP itself then sees a short path.
    loss     netem, else nftables.
    cut      nftables, which leaves the shape alone and takes what goes out unknown to TCP; else
             netem, losing everything; else nftables with drops, which TCP is told of.

Found to be missing is said before a run, with what to do about it.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import HostError
from ..world.link import Link
from .features import Features


@dataclass(frozen=True)
class Backend:
    """One for all nodes of a run; `none` where the scenario asks nothing of it."""

    rate: Literal["tbf", "htb", "none"] = "none"
    delay: Literal["netem", "receiver"] = "receiver"
    loss: Literal["netem", "nftables", "none"] = "none"
    cut: Literal["nftables", "netem", "drop", "none"] = "none"

    def plain(self) -> dict[str, str]:
        """As JSON holds it; `Backend.read` is its inverse."""
        return asdict(self)

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Backend":
        return cls(**plain)


def choose(features: Features, links: Iterable[Link], cuts: bool = False) -> Backend:
    """The best that this kernel can do for these links, and for partitions if `cuts`.

    Raises HostError, naming all that is missing and what to do.
    """
    links = tuple(links)
    missing = _missing(features, links, cuts)
    if missing:
        lines = "".join(f"\n  {line}" for line in missing)
        raise HostError(
            f"this kernel cannot shape what the scenario asks for:{lines}\n"
            "Load the modules on the machine that runs the containers (modprobe NAME), use a "
            "kernel that has them, or take these links and faults out of the scenario."
        )
    netem = _netem_serves(features, links)
    return Backend(
        rate=_rate(features, links),
        delay="netem" if netem else "receiver",
        loss=_loss(features, links, netem),
        cut=_cut(features) if cuts else "none",
    )


def _netem_serves(features: Features, links: tuple[Link, ...]) -> bool:
    incoming = any(link.down.shaped for link in links)
    return features.netem and (features.ifb or not incoming)


def _rate(features: Features, links: tuple[Link, ...]) -> Literal["tbf", "htb", "none"]:
    if not any(side.rate for link in links for side in (link.up, link.down)):
        return "none"
    return "tbf" if features.tbf else "htb"


def _loss(
    features: Features, links: tuple[Link, ...], netem: bool
) -> Literal["netem", "nftables", "none"]:
    if not any(side.loss for link in links for side in (link.up, link.down)):
        return "none"
    return "netem" if netem else "nftables"


def _cut(features: Features) -> Literal["nftables", "netem", "drop", "none"]:
    if features.egress:
        return "nftables"
    if features.netem and features.ifb and features.htb:
        return "netem"
    return "drop" if features.nftables else "none"


def _missing(features: Features, links: tuple[Link, ...], cuts: bool) -> list[str]:
    rated = [side for link in links for side in (link.up, link.down) if side.rate]
    lossy = [side for link in links for side in (link.up, link.down) if side.loss]
    says = []
    if rated and not (features.tbf or features.htb):
        says.append("a rate needs sch_tbf or sch_htb")
    if any(link.down.rate for link in links) and not features.ifb:
        says.append("a downlink's rate needs ifb, sch_ingress, cls_u32 and act_mirred")
    if lossy and not (features.nftables or _netem_serves(features, links)):
        says.append("loss needs sch_netem, or nft with nf_tables and nft_numgen")
    if any(link.up.loss for link in links) and not features.htb:
        says.append("an uplink's loss needs sch_htb and cls_u32")
    if cuts and _cut(features) == "none":
        says.append("a partition needs nft with nf_tables, or sch_netem with ifb and sch_htb")
    return says
