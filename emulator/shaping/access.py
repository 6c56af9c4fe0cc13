"""All that can be done to a node's access link, as commands to be run where the node lives."""

from collections.abc import Iterable
from dataclasses import replace

from ..units import Fraction
from ..world.link import Link, Side
from . import nft, tc
from .backend import Backend
from .command import Command

_DEAD = Link(up=Side(loss=Fraction(1)), down=Side(loss=Fraction(1)))


def shape(
    link: Link, backend: Backend, device: str = "eth0", beyond: Iterable[Side] = ()
) -> list[Command]:
    """Make `device`, unshaped so far, the near end of `link`.

    `beyond` are the sides at the far ends that what is sent here passes: packets are made to fit
    them. Where the backend's delay is `receiver`, that part is left to `Hold` at the far end.
    """
    lose = nft.lose(link, device) if backend.loss == "nftables" else []
    return tc.shape(link, backend, device, beyond) + lose


def clear(device: str = "eth0") -> list[Command]:
    """Undo whatever of `shape` and `sever` was done, and nothing that others did."""
    return nft.clear() + tc.clear(device)


def sever(link: Link, backend: Backend, device: str = "eth0") -> list[Command]:
    """Let nothing through either way, on a shaped link; the node's connections survive.

    It may be done twice. netem throws away what was queued; with nftables it still drains.
    """
    if backend.cut == "nftables":
        return nft.sever(device)
    if backend.cut == "drop":
        return nft.sever_with_drops()
    return clear(device) + tc.shape(_DEAD, replace(backend, loss="netem"), device)


def mend(
    link: Link, backend: Backend, device: str = "eth0", beyond: Iterable[Side] = ()
) -> list[Command]:
    """Undo `sever`, if it was done: the link is as it was shaped."""
    if backend.cut == "nftables":
        return nft.mend()
    if backend.cut == "drop":
        return nft.mend_drops()
    return clear(device) + shape(link, backend, device, beyond)
