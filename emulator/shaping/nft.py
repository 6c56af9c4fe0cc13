"""Loss and partitions as nft rules. Pure: the commands are run elsewhere.

What comes in is dropped. What goes out must not be: TCP is told when its own host drops a
packet, does not count it as sent, and never slows down (at 10 % loss it sends no segment a
second time). So a packet to be lost is given the priority of a class that swallows it further
down, and TCP learns of it from the silence, as on a real link.

In a cut all packets that go out are forwarded to the loopback, from a hook between IP and the
queue. TCP counts them as sent. The loopback discards them, since they bear the Ethernet address
of another device. A `drop` in that hook would be told to TCP, too.

The tables let ARP through.
"""

from ..units import Fraction
from ..world.link import Link
from .command import Command
from .tc import LOST

_LOSS = "inet emulate-loss"
_CUT_IN = "inet emulate-cut"
_CUT_OUT = "netdev emulate-cut"
_NONE_IN = 'iifname != "lo" drop'
_GRAIN = 1_000_000
"""Losses are drawn in parts of this."""


def lose(link: Link, device: str) -> list[Command]:
    """Drop the link's share of what comes in; send the share of what goes out to `tc.LOST`."""
    chains = []
    if link.down.loss:
        chains.append(_chain("input", f'iifname "{device}" {_drawn(link.down.loss)} drop'))
    if link.up.loss:
        verdict = f"meta priority set {_priority(LOST)}"
        chains.append(_chain("output", f'oifname "{device}" {_drawn(link.up.loss)} {verdict}'))
    return [_nft(_fresh(_LOSS, chains))] if chains else []


def sever(device: str) -> list[Command]:
    """Let no IP in, and none out through `device`, unknown to TCP; connections survive.

    Packets that wait in the queue of `device` still leave. A second `sever` changes nothing.
    """
    way_in = _fresh(_CUT_IN, [_chain("input", _NONE_IN)])
    way_out = _chain("egress", 'meta protocol != arp fwd to "lo"', f' device "{device}"')
    return [_nft(way_in + _fresh(_CUT_OUT, [way_out]))]


def mend() -> list[Command]:
    """Undo `sever`, if it was done."""
    return [_nft(_gone(_CUT_IN) + _gone(_CUT_OUT))]


def sever_with_drops() -> list[Command]:
    """Let no IP in or out but on the loopback, on a kernel whose nft cannot forward what goes out.

    TCP is told of the drops. It does not count a message as sent that it sends into the cut, and
    sends the message with a wide window after the cut.
    """
    chains = [_chain("input", _NONE_IN), _chain("output", 'oifname != "lo" drop')]
    return [_nft(_fresh(_CUT_IN, chains))]


def mend_drops() -> list[Command]:
    """Undo `sever_with_drops`, if it was done."""
    return [_nft(_gone(_CUT_IN))]


def clear() -> list[Command]:
    """Undo `lose`, `sever` and `sever_with_drops`, whichever was done."""
    tables = (_LOSS, _CUT_IN, _CUT_OUT)
    return [Command(("nft", "-f", "-"), _gone(table), lenient=True) for table in tables]


def _drawn(loss: Fraction) -> str:
    return f"numgen random mod {_GRAIN} < {round(loss * _GRAIN)}"


def _priority(classid: str) -> str:
    major, minor = (int(part, 16) for part in classid.split(":"))
    return f"{major << 16 | minor:#x}"


def _chain(hook: str, rule: str, where: str = "") -> str:
    return (
        f"  chain {hook} {{\n"
        f"    type filter hook {hook}{where} priority 0; policy accept;\n"
        f"    {rule}\n"
        "  }\n"
    )


def _gone(table: str) -> str:
    return f"add table {table}\ndelete table {table}\n"  # deleting one that is not there fails


def _fresh(table: str, chains: list[str]) -> str:
    return f"{_gone(table)}table {table} {{\n{''.join(chains)}}}\n"


def _nft(text: str) -> Command:
    return Command(("nft", "-f", "-"), text)
