"""Checks of bottlenecks across several keys: their keys, names, rates and members."""

from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import shortened, suggestion
from ...world.links.link import Side
from ..sections.bottleneck_section import DeviceNames
from .document import Address, Document, place

_SHARED = ("rate", "delay")
"""The keys of a link that a shared queue has, too."""

_APART = (("name",), ("members",))
"""Keys of a bottleneck in which a mistake hides no rate."""

_PLACE = ("bottlenecks",)


def check_keys(document: Document) -> None:
    """Add a mistake for each key of a link that a bottleneck does not have."""
    for address, _ in _entries(document):
        for way in ("up", "down"):
            side = document.at((*address, way))
            for key in side if isinstance(side, dict) else ():
                if key in Side.__dataclass_fields__ and key not in _SHARED:
                    document.complain(
                        (*address, way, key),
                        f"a shared queue has {' and '.join(_SHARED)} alone: write {key} in the "
                        "links of the members",
                    )


def check_bottlenecks(
    document: Document, groups: Sequence[tuple[int, str, tuple[str, ...]]]
) -> None:
    """Add the mistakes of all other checks in this module.

    `groups` has index, name and device names of each group.
    """
    known = DeviceNames((name, devices) for _, name, devices in groups)
    taken = {
        name: f"devices[{index}]" for index, group, names in groups for name in (group, *names)
    }
    behind: dict[str, Address] = {}
    for address, entry in _entries(document):
        name = entry.get("name")
        if isinstance(name, str):
            if owner := taken.get(name):
                message = f"{shortened(name)} is the name of {owner} too: choose another name"
                document.complain((*address, "name"), message)
            taken.setdefault(name, place(address))
        _limits(document, address, entry)
        members = entry.get("members")
        for index, member in enumerate(members if isinstance(members, list) else ()):
            if isinstance(member, str):
                _member(document, (*address, "members", index), member, known, behind)


def _entries(document: Document) -> Iterator[tuple[Address, dict[str, Any]]]:
    """Yield the mappings in the list of bottlenecks, with their addresses."""
    entries = document.at(_PLACE)
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield (*_PLACE, number), entry


def _limits(document: Document, address: Address, entry: dict[str, Any]) -> None:
    """Check that the bottleneck has a rate in a direction."""
    sides = [entry.get(way) for way in ("up", "down")]
    if any(at[: len(address)] == address and at[2:3] not in _APART for at in document.broken):
        return  # a key with a mistake may have been the rate
    if not any(isinstance(side, dict) and side.get("rate") is not None for side in sides):
        document.complain(address, "limits nothing: give up or down a rate, for example 20mbit")


def _member(
    document: Document,
    address: Address,
    member: str,
    known: DeviceNames,
    behind: dict[str, Address],
) -> None:
    """Check that `member` names devices, none of which is in an earlier bottleneck.

    `behind` has the bottlenecks of the devices so far; those of `member` are added.
    """
    devices = list(known.of(member))
    own = address[:2]
    if not devices:
        names = list(known)
        some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        hint = suggestion(member, names) or f": there are {some}"
        document.complain(address, f"{shortened(member)} is no device{hint}")
    twice = [device for device in devices if behind.setdefault(device, own) != own]
    if twice:
        more = f" and {len(twice) - 1} more are" if len(twice) > 1 else " is"
        document.complain(
            address,
            f"{twice[0]}{more} behind {place(behind[twice[0]])} already: a device is behind one "
            "bottleneck at most",
        )
