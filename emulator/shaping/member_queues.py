"""A bottleneck's direction with a queue for each member, as tc commands.

    htb: rate ─┬─ member: rate / members, up to rate ── tbf: no rate; cuts superpackets
               └─ member: rate / members, up to rate ── tbf

Members that wait take turns, by bytes, and a member that does not leaves its share to the others:
the shares are max-min fair, whatever the congestion control of the senders. Pitfalls:

* A turn of htb passes a whole packet, also one longer than the quantum, and the next turn does not
  remember. So the quantum is the longest packet, to which a tbf below cuts superpackets.
* Each queue is as long as that of a line on its own, so a member alone finds such a line.
"""

from collections.abc import Sequence
from typing import Literal

from ..world.link import ETHERNET, Side
from . import tc
from .bounds import playable


def member_queues(
    side: Side, device: str, end: Literal["src", "dst"], members: Sequence[str], *, cut: bool
) -> list[str]:
    """Return commands to queue the packets of each of `members` apart, at the rate of `side`.

    `members` are addresses, which packets have at their `end`. `cut`: whether a tbf may cut
    superpackets; senders must not make any otherwise.
    """
    assert side.rate is not None
    root, line = f"{tc.HANDLE:x}:", f"{tc.HANDLE:x}:1"
    longest = tc.usual_burst(side) if cut else ETHERNET
    share = playable(side.rate / len(members))
    ceiling = f"ceil {tc.bits(side.rate)} cburst {tc.usual_burst(side)} quantum {longest}"
    leaf = f"tbf rate {tc.UNFELT} burst {longest} limit" if cut else "bfifo limit"
    lines = [
        f"tc qdisc add dev {device} root handle {root} htb default 0",
        f"tc class add dev {device} parent {root} classid {line} htb "
        f"rate {tc.bits(side.rate)} burst {tc.usual_burst(side)} {ceiling}",
    ]
    for number, address in enumerate(members, 2):
        own = f"{tc.HANDLE:x}:{number:x}"
        lines += [
            f"tc class add dev {device} parent {line} classid {own} htb "
            f"rate {tc.bits(share)} burst {ETHERNET} {ceiling}",
            f"tc qdisc add dev {device} parent {own} {leaf} {tc.usual_queue(side)}",
            f"tc filter add dev {device} parent {root} protocol ip u32 "
            f"match ip {end} {address}/32 flowid {own}",
        ]
    return lines
