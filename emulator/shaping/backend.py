"""Choice of the mechanism for each part of a link: the kernel where it can, else the next best.

    rate     tbf: it cuts TCP's 64 KB superpackets into frames, so that a small message takes its
             time, too. htb passes them whole: correct only on average.
    delay    netem; else the box, a process outside the containers that holds their packets back
             behind TAP devices; else the receiver holds each message back, and TCP itself sees a
             short path.
    loss     netem, or the box where it delays packets; else nftables.
    shared   htb: a queue for each member of a bottleneck; else tbf: one queue for all.
    cut      nftables, which keeps the shape and hides the cut from the sender's TCP; else netem
             with all packets lost; else nftables with drops, which TCP notices.

Where the box delays packets and tbf or ifb is missing, the box shapes rates, too. A missing
mechanism is reported before a run, with its remedy.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import HostError
from ..world.links.link import Link, Side
from ..world.links.reshaping import plain_side
from .features import DELAYS as DELAYS
from .features import Delay as Delay
from .features import Features


@dataclass(frozen=True)
class Backend:
    """Mechanisms of all nodes of a run; `none` where the scenario does not need a part."""

    rate: Literal["tbf", "htb", "box", "none"] = "none"
    delay: Delay = "receiver"
    loss: Literal["netem", "nftables", "box", "none"] = "none"
    cut: Literal["nftables", "netem", "drop", "none"] = "none"
    shared: Literal["htb", "tbf", "none"] = "none"
    """Rate of a bottleneck: htb has a queue for each member, tbf one for all."""

    def plain(self) -> dict[str, str]:
        """Return the fields as JSON-compatible values; `Backend.read` is the inverse.

        `shared` is there for a run with bottlenecks alone.
        """
        kept = asdict(self)
        return kept if self.shared != "none" else {k: kept[k] for k in kept if k != "shared"}

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Backend":
        """Build a backend from the output of `plain`."""
        return cls(**plain)


def choose(
    features: Features, links: Iterable[Link], cuts: bool = False, shaping: Delay | None = None
) -> Backend:
    """Return the best mechanisms of this kernel for `links`, and for partitions if `cuts`.

    `shaping` forces the mechanism of delays. Raises HostError with all missing features and their
    remedies.
    """
    links = tuple(links)
    delay = shaping or _delay(features, links)
    missing = _missing(features, links, cuts, delay)
    if missing:
        lines = "".join(f"\n  {line}" for line in missing)
        raise HostError(
            f"this kernel cannot shape what the scenario asks for:{lines}\n"
            "Load the modules on the machine that runs the containers (modprobe NAME), use a "
            "kernel that has them, or take these links and faults out of the scenario."
        )
    return Backend(
        rate=_rate(features, links, delay),
        delay=delay,
        loss=_loss(links, delay),
        cut=_cut(features, delay) if cuts else "none",
    )


def boxed(link: Link, backend: Backend, others: Iterable[Link] = ()) -> bool:
    """Return whether the packets of `link` pass the box, as the link has more than a rate.

    `others` are the links that faults may give in its place. Set-up times are the receiver's.
    """
    if backend.delay != "packets":
        return False
    kernels = {"rate", "overhead"} if backend.rate != "box" else set()
    without = {"setup"} | kernels
    sides = _sides((link, *others))
    return any(plain_side(side).keys() - without for side in sides)


def _sides(links: Iterable[Link]) -> list[Side]:
    return [side for link in links for side in (link.up, link.down)]


def _delay(features: Features, links: tuple[Link, ...]) -> Delay:
    if _netem_serves(features, links):
        return "netem"
    return "packets" if features.tun else "receiver"


def _netem_serves(features: Features, links: tuple[Link, ...]) -> bool:
    """Return whether netem can serve all sides; a downlink needs ifb as well.

    netem draws jitter without the `correlation` asked for: it indexes its table by the low bits of
    correlated numbers. Linux 6.1 gave -0.02 for 80 % (tests/shaping/test_keys_netem.py).
    """
    incoming = any(link.down.shaped for link in links)
    if any(side.correlation for side in _sides(links)):
        return False
    return features.netem and (features.ifb or not incoming)


def _rate(
    features: Features, links: tuple[Link, ...], delay: Delay
) -> Literal["tbf", "htb", "box", "none"]:
    if not any(side.rate for side in _sides(links)):
        return "none"
    if delay == "packets":
        incoming = any(link.down.rate for link in links)
        return "tbf" if features.tbf and (features.ifb or not incoming) else "box"
    return "tbf" if features.tbf else "htb"


def _loss(links: tuple[Link, ...], delay: Delay) -> Literal["netem", "nftables", "box", "none"]:
    if not any(side.loss or side.loss_model for side in _sides(links)):
        return "none"
    return {"netem": "netem", "packets": "box"}.get(delay, "nftables")  # type: ignore[return-value]


def _cut(features: Features, delay: Delay) -> Literal["nftables", "netem", "drop", "none"]:
    if features.egress:
        return "nftables"
    if delay != "packets" and features.netem and features.ifb and features.htb:
        return "netem"  # in the place of the shape, which the box shares
    return "drop" if features.nftables else "none"


def _missing(features: Features, links: tuple[Link, ...], cuts: bool, delay: Delay) -> list[str]:
    """Return a line for every feature that is needed and missing."""
    lines = _missing_for_delay(features, links, delay)
    if delay == "receiver":
        lines += _missing_for_keys(links)
    if delay != "packets":
        lines += _missing_for_rate(features, links)
        lines += _missing_for_loss(features, links, delay)
    if cuts and _cut(features, delay) == "none":
        lines.append("a partition needs nft with nf_tables, or sch_netem with ifb and sch_htb")
    return lines


def _missing_for_delay(features: Features, links: tuple[Link, ...], delay: Delay) -> list[str]:
    if delay == "netem" and any(side.correlation for side in _sides(links)):
        return ["`correlation` of a link needs packets (--shaping packets): netem draws without it"]
    if delay == "netem" and not _netem_serves(features, links):
        return ["netem needs sch_netem, and for downlinks ifb, sch_ingress, cls_u32 and act_mirred"]
    if delay == "packets" and not features.tun:
        return ["packets need /dev/net/tun in containers (tun)"]
    return []


_PACKETS_ONLY = (
    *("distribution", "correlation", "loss_model", "duplicate", "corrupt", "reorder", "gap"),
    "limit",
)
"""Keys of a side that need single packets, of which a receiver of messages knows nothing."""


def _missing_for_keys(links: tuple[Link, ...]) -> list[str]:
    """Return a line for each key of `links` beyond a receiver of messages."""
    used = set().union(*(plain_side(side).keys() for side in _sides(links)))
    tun = "/dev/net/tun in containers (tun)"
    need = {"correlation": f"{tun}: netem draws without it"}
    return [
        f"`{key}` of a link needs {need.get(key, f'sch_netem, or {tun}')}"
        for key in _PACKETS_ONLY
        if key in used
    ]


def _missing_for_rate(features: Features, links: tuple[Link, ...]) -> list[str]:
    lines = []
    if any(side.rate for side in _sides(links)) and not (features.tbf or features.htb):
        lines.append("a rate needs sch_tbf or sch_htb")
    if any(link.down.rate for link in links) and not features.ifb:
        lines.append("a downlink's rate needs ifb, sch_ingress, cls_u32 and act_mirred")
    return lines


def _missing_for_loss(features: Features, links: tuple[Link, ...], delay: Delay) -> list[str]:
    lines = []
    lossy = any(side.loss for side in _sides(links))
    if lossy and delay == "receiver" and not features.nftables:
        lines.append("loss needs sch_netem, or nft with nf_tables and nft_numgen")
    if any(link.up.lossy for link in links) and not features.htb:
        lines.append("an uplink's loss needs sch_htb and cls_u32")
    return lines
