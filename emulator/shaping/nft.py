"""Loss and partitions as nft rules. Pure: the commands are run elsewhere.

What comes in is dropped. What goes out must not be: TCP is told when its own host drops a
packet, does not count it as sent, and never slows down (at 10 % loss it sends no segment a
second time). So a packet to be lost is given the priority of a class that swallows it further
down, and TCP learns of it from the silence, as on a real link.

Both tables speak of IP alone: ARP gets through.
"""

from ..link import Link
from ..units import Fraction
from .command import Command
from .tc import LOST

_LOSS = "inet emulate-loss"
_CUT = "inet emulate-cut"
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


def sever() -> list[Command]:
    """Let nothing in or out but on the loopback; connections survive. Said twice, it does once.

    Here a drop may be told to TCP: it backs off all the same when nothing gets through. But what is
    sent out into a cut was never sent for TCP, and goes with a wide window once the cut is over,
    where a loss further down would have made it begin with one segment.
    """
    chains = [_chain("input", 'iifname != "lo" drop'), _chain("output", 'oifname != "lo" drop')]
    return [_nft(_fresh(_CUT, chains))]


def mend() -> list[Command]:
    """Undo `sever`, if it was done."""
    return [_nft(_gone(_CUT))]


def clear() -> list[Command]:
    """Undo `lose` and `sever`, whichever was done."""
    return [
        Command(command.words, command.text, lenient=True)
        for command in (_nft(_gone(_LOSS)), *mend())
    ]


def _drawn(loss: Fraction) -> str:
    return f"numgen random mod {_GRAIN} < {round(loss * _GRAIN)}"


def _priority(classid: str) -> str:
    major, minor = (int(part, 16) for part in classid.split(":"))
    return f"{major << 16 | minor:#x}"


def _chain(hook: str, rule: str) -> str:
    return (
        f"  chain {hook} {{\n"
        f"    type filter hook {hook} priority 0; policy accept;\n"
        f"    {rule}\n"
        "  }\n"
    )


def _gone(table: str) -> str:
    return f"add table {table}\ndelete table {table}\n"  # deleting one that is not there fails


def _fresh(table: str, chains: list[str]) -> str:
    return f"{_gone(table)}table {table} {{\n{''.join(chains)}}}\n"


def _nft(text: str) -> Command:
    return Command(("nft", "-f", "-"), text)
