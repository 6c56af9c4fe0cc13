"""Operations on a node's access link, as commands to run in the node's network."""

from collections.abc import Iterable
from dataclasses import replace

from ..units import Fraction
from ..world.links.link import Link, Side
from . import nft, tc
from .backend import Backend
from .command import Command

_DEAD = Link(up=Side(loss=Fraction(1)), down=Side(loss=Fraction(1)))


def shape(
    link: Link,
    backend: Backend,
    device: str = "eth0",
    beyond: Iterable[Side] = (),
    *,
    changing: bool = False,
) -> list[Command]:
    """Return commands to make the unshaped `device` the near end of `link`.

    `beyond` are the sides of far ends that outgoing packets pass; packets are sized to fit them.
    `changing`: whether `change` may follow. If the backend's delay is `receiver`, the delay is left
    to `Hold` at the far end.
    """
    loss = nft.lose(link, device) if backend.loss == "nftables" else []
    return tc.shape(link, backend, device, beyond, changing=changing) + loss


def clear(device: str = "eth0") -> list[Command]:
    """Return commands that undo `shape` and `sever`, done or not, and leave other rules alone."""
    return nft.clear() + tc.clear(device)


def change(old: Link, new: Link, backend: Backend, device: str = "eth0") -> list[Command]:
    """Return commands that turn the shape of `old`, made as changing, into that of `new`.

    A cut by nftables stays. Queued packets stay queued, and leave as on the new link, unless `new`
    needs another tree.
    """
    commands = tc.change(old, new, backend, device)
    if backend.loss != "nftables" or (old.up.loss, old.down.loss) == (new.up.loss, new.down.loss):
        return commands
    return commands + (nft.lose(new, device) or [nft.lose_nothing()])


def sever(link: Link, backend: Backend, device: str = "eth0") -> list[Command]:
    """Return commands that block a shaped link both ways; the node's connections survive.

    Repeating them is harmless. netem discards queued packets; with nftables the queue still drains.
    """
    if backend.cut == "nftables":
        return nft.sever(device)
    if backend.cut == "drop":
        return nft.sever_with_drops()
    return clear(device) + tc.shape(_DEAD, replace(backend, loss="netem"), device)


def mend(
    link: Link,
    backend: Backend,
    device: str = "eth0",
    beyond: Iterable[Side] = (),
    *,
    changing: bool = False,
) -> list[Command]:
    """Return commands that undo `sever`, done or not: the link is as `shape` has made it."""
    if backend.cut == "nftables":
        return nft.mend()
    if backend.cut == "drop":
        return nft.mend_drops()
    return clear(device) + shape(link, backend, device, beyond, changing=changing)
