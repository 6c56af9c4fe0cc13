"""Checks of links and bottlenecks while a file is read."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...errors import shortened, suggestion
from ...shaping.playable_link import FASTEST
from ...units import Fraction, Rate
from ...world.faults import Scheduled
from ...world.links.link import SILENT, WAYS, Link, Side
from ...world.links.link_course import silent_from
from ...world.links.reshaping import reshaped
from ..model import Scenario
from ..sections.devices import DeviceNames, Group
from ..timeline.link_changes import link_faults
from .document import Address, Document, place
from .link_trace_files import link_sides
from .wording import conflicts

_CUT = "so the link carries nothing: to cut a link, use a partition"


def check_carrying(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each link of `scenario` that never carries a packet.

    A fault that lasts may leave nothing of a link; a fault for good may not.
    """
    links: list[tuple[Address, Link]] = [(("server", "link"), scenario.server.link)]
    links += [(("devices", n, "link"), each.link) for n, each in enumerate(scenario.devices)]
    for address, link in links:
        for way in WAYS:
            for key, why in _silent(getattr(link, way)):
                document.complain((*address, way, key), why)
            _check_scale(document, (*address, way, "trace"), getattr(link, way))
    if document.mistakes:
        return
    for address, fault, group in link_faults(scenario):
        if fault.lasts is None and silent_from(group.link, fault.begin("").setting) == 0:
            for named, why in _of_fault(address, fault):
                if not document.has_mistake(named):
                    document.complain(named, f"{why}; or give `lasts`")
    for address, fault, _ in link_faults(scenario, "garble"):
        named = (*address, "messages")
        share = (fault.begin("").setting or {})["share"]
        if fault.lasts is None and share >= SILENT and not document.has_mistake(named):
            document.complain(named, f"all messages are spoilt for good, {_CUT}; or give `lasts`")


def _silent(side: Side) -> Iterator[tuple[str, str]]:
    """Yield the key by which `side` never carries a packet, with the reason; nothing otherwise."""
    if silent_from(Link(up=side)) > 0:
        return
    if side.trace is not None:
        yield "trace", f"has an outage, or loses all packets, all the time, {_CUT}"
    elif side.steps:
        yield "steps", f"all packets are lost from the begin to the end, {_CUT}"
    else:
        key = "loss" if side.loss_model is None else "loss_model"
        whole = replace(side, corrupt=Fraction(0)).silent
        yield key if whole else "corrupt", f"all packets are lost, {_CUT}"


def _of_fault(address: Address, fault: Scheduled) -> Iterator[tuple[Address, str]]:
    """Yield the places of the keys by which `fault` silences a link, with the reasons."""
    link: Link | None = getattr(fault, "link", None)
    if link is None:
        yield (*address, "loss"), f"all packets are lost for good, {_CUT}"
        return
    for way in WAYS:
        for key, why in _silent(getattr(link, way)):
            yield (*address, "link", way, key), why


def _check_scale(document: Document, address: Address, side: Side) -> None:
    """Refuse a factor that brings a rate of the trace of `side` to the fastest rate, or above."""
    if side.trace is None:
        return
    fastest = max((sample.rate or 0.0 for sample in side.trace.trace.samples), default=0.0)
    if fastest * side.trace.scale >= FASTEST:
        document.complain(
            (*address, "scale"),
            f"{side.trace.scale:g} times {Rate(fastest)} is not below {Rate(FASTEST)}, the fastest "
            "rate of a link",
        )


def check_degraded(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each fault of `scenario` that no link model can express."""
    if not any(map(_modelled, scenario.devices)):
        return
    for address, fault, group in link_faults(scenario):
        try:
            reshaped(group.link, fault.begin("").setting)
        except ValueError as error:
            named = (*address, "loss")
            if not document.has_mistake(named):
                message = f"of {group.name}: {error}: give the fault a `link` in place of `loss`"
                document.complain(named, message)
    for entry in scenario.targets_of_faults.entries() if scenario.network else ():
        setting = entry.fault.begin("").setting or {}
        behind = {name for link in entry.names for name in scenario.behind_links.get(link, ())}
        for group in scenario.devices if "loss" in setting else ():
            if _modelled(group) and not behind.isdisjoint(group.names):
                document.complain(
                    (*entry.place, "loss"),
                    f"{group.name} is behind the link, and its loss model `state` cannot have more "
                    "loss: leave one of the two out",
                )


def _modelled(group: Group) -> bool:
    """Return whether a direction of the group's link has a loss model of four states."""
    models = (group.link.up.loss_model, group.link.down.loss_model)
    return any(model is not None and model.state is not None for model in models)


_SIDE: TypeAdapter[Side] = TypeAdapter(Side)

_DEPENDENTS = {
    "rate": ("overhead",),
    "delay": ("jitter", "distribution", "correlation", "reorder", "gap"),
    "jitter": ("distribution", "correlation"),
    "reorder": ("gap",),
    "trace": ("overhead", "jitter", "distribution", "correlation", "reorder", "gap"),
}
"""For each key, the keys that may be right or wrong by its value."""
_STEPPED = ("rate", "delay", "jitter", "loss", "loss_model", "reorder")
"""Keys that the check of a step counts with."""


def find_hidden_conflicts(document: Document, schema: dict[str, Any]) -> None:
    """Add to `document` the contradictions in the sides that have malformed keys.

    pydantic looks at a side as a whole only if each key of it can be read. The readable keys are
    looked at here without the others, and without the keys whose sense depends on the others.
    `schema` is the JSON schema of scenarios.
    """
    for address in link_sides(document):
        side: dict[str, Any] = document.at(address)
        wrong = {key for key in side if _is_wrong(document, (*address, key))}
        if not wrong or document.has_mistake(address):
            continue
        without = wrong.union(*(_DEPENDENTS.get(key, ()) for key in wrong))
        readable = {key: value for key, value in side.items() if key not in without}
        for inside, message in _conflicts(readable, schema):
            if not (inside[:1] == ("steps",) and inside[2:] != ("at",) and wrong & {*_STEPPED}):
                document.complain((*address, *inside), message)


def _is_wrong(document: Document, address: Address) -> bool:
    """Return whether the value at `address`, or a value inside, has a mistake."""
    return any(at[: len(address)] == address for at in document.broken)


def _conflicts(side: dict[str, Any], schema: dict[str, Any]) -> list[tuple[Address, str]]:
    try:
        _SIDE.validate_json(json.dumps(side), strict=True)
    except ValidationError as error:
        return conflicts(error.errors(include_url=False), schema, side)
    return []


_SHARED = ("rate", "delay")
"""The keys of a link that a shared queue has, too."""

_APART = (("name",), ("members",))
"""Keys of a bottleneck in which a mistake hides no rate."""

_PLACE = ("bottlenecks",)


def check_keys(document: Document) -> None:
    """Add a mistake for each key of a link that a bottleneck or a network's link does not have."""
    shared = [*document.entries(_PLACE, dict), *document.entries(("network", "links"), dict)]
    for address, _ in shared:
        for way in ("up", "down"):
            side = document.at((*address, way))
            for key in side if isinstance(side, dict) else ():
                if key in Side.__dataclass_fields__ and key not in _SHARED:
                    document.complain(
                        (*address, way, key),
                        f"a shared queue has {' and '.join(_SHARED)} alone: write {key} in the "
                        f"links of the {'members' if address[0] == _PLACE[0] else 'devices'}",
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
    for address, entry in document.entries(_PLACE, dict):
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
