"""Choice of the mechanism for each part of a link: the kernel where it can, else the next best.

    rate     tbf: it cuts TCP's 64 KB superpackets into frames, so that a small message takes its
             time, too. htb passes them whole: correct only on average.
    delay    netem; else the receiver holds each message back, and TCP itself sees a short path.
    loss     netem; else nftables.
    cut      nftables, which keeps the shape and hides the cut from the sender's TCP; else netem
             with all packets lost; else nftables with drops, which TCP notices.

A missing mechanism is reported before a run, with its remedy.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import HostError
from ..world.link import Link
from .features import Features


@dataclass(frozen=True)
class Backend:
    """Mechanisms of all nodes of a run; `none` where the scenario does not need a part."""

    rate: Literal["tbf", "htb", "none"] = "none"
    delay: Literal["netem", "receiver"] = "receiver"
    loss: Literal["netem", "nftables", "none"] = "none"
    cut: Literal["nftables", "netem", "drop", "none"] = "none"

    def plain(self) -> dict[str, str]:
        """Return the fields as JSON-compatible values; `Backend.read` is the inverse."""
        return asdict(self)

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Backend":
        """Build a backend from the output of `plain`."""
        return cls(**plain)


def choose(features: Features, links: Iterable[Link], cuts: bool = False) -> Backend:
    """Return the best mechanisms of this kernel for `links`, and for partitions if `cuts`.

    Raises HostError with all missing features and their remedies.
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
    """Return whether netem can serve all sides; a downlink needs ifb as well."""
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
    """Return a line for every feature that is needed and missing."""
    rated = [side for link in links for side in (link.up, link.down) if side.rate]
    lossy = [side for link in links for side in (link.up, link.down) if side.loss]
    lines = []
    if rated and not (features.tbf or features.htb):
        lines.append("a rate needs sch_tbf or sch_htb")
    if any(link.down.rate for link in links) and not features.ifb:
        lines.append("a downlink's rate needs ifb, sch_ingress, cls_u32 and act_mirred")
    if lossy and not (features.nftables or _netem_serves(features, links)):
        lines.append("loss needs sch_netem, or nft with nf_tables and nft_numgen")
    if any(link.up.loss for link in links) and not features.htb:
        lines.append("an uplink's loss needs sch_htb and cls_u32")
    if cuts and _cut(features) == "none":
        lines.append("a partition needs nft with nf_tables, or sch_netem with ifb and sch_htb")
    return lines
