"""Loss and partitions as nft rules; these functions only write the commands.

Incoming packets are dropped. Outgoing packets must not be: TCP is told when its own host drops a
packet, does not count it as sent, and never slows down (at 10 % loss it retransmits no segment). So
an outgoing packet to be lost gets the priority of a class that discards it further down, and TCP
infers the loss from the silence, as on a real link.

In a cut, all outgoing packets are forwarded to the loopback from a hook between IP and the queue,
and TCP counts them as sent. The loopback discards them, as they bear the Ethernet address of
another device. TCP would be told of a `drop` in that hook, too.

The tables let ARP pass.
"""

from ..units import Fraction
from ..world.links.link import Link
from .command import Command
from .tc import LOST

_LOSS = "inet emulate-loss"
_CUT_IN = "inet emulate-cut"
_CUT_OUT = "netdev emulate-cut"
_NONE_IN = 'iifname != "lo" drop'
_GRAIN = 1_000_000
"""Resolution of loss: probabilities are multiples of 1 / `_GRAIN`."""


def lose(link: Link, device: str) -> list[Command]:
    """Return a command to drop incoming packets and divert outgoing ones to `tc.LOST` at random.

    The probabilities are the link's losses. The list is empty for a link without loss.
    """
    chains = []
    if link.down.loss:
        chains.append(_chain("input", f'iifname "{device}" {_drawn(link.down.loss)} drop'))
    if link.up.loss:
        verdict = f"meta priority set {_priority(LOST)}"
        chains.append(_chain("output", f'oifname "{device}" {_drawn(link.up.loss)} {verdict}'))
    return [_nft(_fresh(_LOSS, chains))] if chains else []


def lose_nothing() -> Command:
    """Return a command that undoes `lose`, done or not."""
    return _nft(_gone(_LOSS))


def sever(device: str) -> list[Command]:
    """Return a command that blocks IP both ways at `device`, unknown to TCP; connections survive.

    Packets in the queue of `device` still leave. Repeating it is harmless.
    """
    way_in = _fresh(_CUT_IN, [_chain("input", _NONE_IN)])
    way_out = _chain("egress", 'meta protocol != arp fwd to "lo"', f' device "{device}"')
    return [_nft(way_in + _fresh(_CUT_OUT, [way_out]))]


def mend() -> list[Command]:
    """Return a command that undoes `sever`, done or not."""
    return [_nft(_gone(_CUT_IN) + _gone(_CUT_OUT))]


def sever_with_drops() -> list[Command]:
    """Return a command to drop IP except on the loopback, for an nft that cannot forward.

    TCP is told of the drops: it does not count a message sent into the cut as sent, and sends it
    with a wide window after the cut.
    """
    chains = [_chain("input", _NONE_IN), _chain("output", 'oifname != "lo" drop')]
    return [_nft(_fresh(_CUT_IN, chains))]


def mend_drops() -> list[Command]:
    """Return a command that undoes `sever_with_drops`, done or not."""
    return [_nft(_gone(_CUT_IN))]


def clear() -> list[Command]:
    """Return commands that undo `lose`, `sever` and `sever_with_drops`, done or not."""
    tables = (_LOSS, _CUT_IN, _CUT_OUT)
    return [Command(("nft", "-f", "-"), _gone(table), lenient=True) for table in tables]


def _drawn(loss: Fraction) -> str:
    """Return the nft condition that holds with probability `loss`."""
    return f"numgen random mod {_GRAIN} < {round(loss * _GRAIN)}"


def _priority(classid: str) -> str:
    """Return the packet priority that selects the class `classid`: 16 bits major, 16 bits minor."""
    major, minor = (int(part, 16) for part in classid.split(":"))
    return f"{major << 16 | minor:#x}"


def _chain(hook: str, rule: str, where: str = "") -> str:
    """Return the text of a chain at `hook` with a single rule."""
    return (
        f"  chain {hook} {{\n"
        f"    type filter hook {hook}{where} priority 0; policy accept;\n"
        f"    {rule}\n"
        "  }\n"
    )


def _gone(table: str) -> str:
    """Return text that deletes `table`, existing or not."""
    return f"add table {table}\ndelete table {table}\n"  # `delete` alone fails without a table


def _fresh(table: str, chains: list[str]) -> str:
    """Return text that creates `table` with `chains`, replacing an old table in the same
    transaction."""
    return f"{_gone(table)}table {table} {{\n{''.join(chains)}}}\n"


def _nft(text: str) -> Command:
    """Return a command to feed `text` to nft."""
    return Command(("nft", "-f", "-"), text)
