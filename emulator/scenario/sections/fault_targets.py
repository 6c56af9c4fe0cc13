"""Entries of faults, and the devices that each strikes, with `count` and `share` drawn."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from hashlib import sha256
from heapq import nsmallest
from typing import Any, TypeAlias

from ... import chance
from ...world.faults import Aimed, Scheduled
from ...world.faults.schedule import ALL
from ...world.roles import SERVER
from .devices import FailureProfile, Group

Place: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the scenario to a fault's entry."""


@dataclass(frozen=True)
class FaultEntry:
    """An entry of the scenario's `faults`, or of a failure profile that a group of devices has."""

    targets: "FaultTargets"
    place: Place
    fault: Scheduled
    index: int
    """Number of the entry in its list, from 0."""
    group: Group | None = None
    """The group with the profile; None for an entry of the scenario."""
    profile: FailureProfile | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The devices that the entry strikes, in order; of the group, if it has one."""
        if self.group is None or self.profile is None:
            return self.targets.aimed(self.index)
        if not self.fault.selective:
            return self.group.names
        strikes = self.targets.strikes
        return tuple(name for name in self.group.names if strikes(name, self.profile, self.index))

    @property
    def list_name(self) -> str:
        """Name of the profile, by which the entry's random streams are called; "" for none."""
        return "" if self.profile is None else self.profile.name


class FaultTargets:
    """The devices that the faults of a scenario strike.

    A draw of `count` or `share` depends on the seed, the entry's place and the names of the devices
    only: another device displaces one of those drawn at most, and another fault none.
    """

    def __init__(self, seed: int, groups: Sequence[Group], faults: Sequence[Aimed]) -> None:
        """`groups` and `faults` are those of the scenario with `seed`."""
        self._seed, self._groups, self._faults = seed, groups, faults
        self._drawn: dict[tuple[str, int, int | None, float | None], frozenset[str]] = {}

    def entries(self) -> Iterator[FaultEntry]:
        """Yield the entries of the scenario, then those of the profiles of each group."""
        for index, fault in enumerate(self._faults):
            yield FaultEntry(self, ("faults", index), fault, index)
        for number, group in enumerate(self._groups):
            for nth, profile in enumerate(group.failures):
                for index, entry in enumerate(profile.faults):
                    place = ("devices", number, "failures", nth, "faults", index)
                    yield FaultEntry(self, place, entry, index, group, profile)

    def aimed(self, index: int) -> tuple[str, ...]:
        """Return the devices that `faults[index]` of the scenario strikes, in the order named."""
        fault = self._faults[index]
        if fault.strikes_server:
            return (SERVER,)
        named = dict.fromkeys(self._named(ALL if fault.nodes is None else fault.nodes))
        if not fault.selective:
            return tuple(named)
        drawn = _drawn(fault, named, self._seed, "", index)
        return tuple(name for name in named if name in drawn)

    def strikes(self, device: str, profile: FailureProfile, index: int) -> bool:
        """Return whether fault number `index` of `profile` strikes `device`, which names the
        profile."""
        fault = profile.faults[index]
        if not fault.selective:
            return True
        # equal entries of one name are one draw, also if each group has its own copy of the profile
        key = profile.name, index, fault.count, fault.share
        if key not in self._drawn:
            bearers = self._bearers[profile.name]
            self._drawn[key] = _drawn(fault, bearers, self._seed, profile.name, index)
        return device in self._drawn[key]

    def hazards(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """Return the faults that devices draw in every iteration, in the form that `Hazard` takes.

        The result has only devices that differ from their group: those that an aimed fault strikes,
        and the groups with a profile that strikes a part of its devices.
        """
        aimed: Mapping[str, list[dict[str, Any]]] = defaultdict(list)
        for index, fault in enumerate(self._faults):
            if (hazard := fault.hazard()) is not None:
                for name in self.aimed(index):
                    aimed[name].append(hazard)
        shared: dict[tuple[int, ...], tuple[dict[str, Any], ...]] = {}
        found = {}
        for group in self._groups:
            selective = any(
                fault.selective and fault.per_iteration is not None
                for profile in group.failures
                for fault in profile.faults
            )
            if not (selective or aimed):
                continue
            own = [
                (profile, index, hazard)
                for profile in group.failures
                for index, fault in enumerate(profile.faults)
                if (hazard := fault.hazard()) is not None
            ]
            for name in group.names:
                if not selective and name not in aimed:
                    continue
                struck = [
                    hazard for profile, index, hazard in own if self.strikes(name, profile, index)
                ]
                struck += aimed.get(name, ())
                # devices with the same faults share a tuple, a million of them too
                found[name] = shared.setdefault(tuple(map(id, struck)), tuple(struck))
        return found

    def keepers(self) -> frozenset[str]:
        """Return the devices that a fault with `keeps: state` strikes."""
        return frozenset(
            name
            for entry in self.entries()
            if getattr(entry.fault, "keeps", None)
            for name in (entry.names if entry.group is None else entry.group.names)
        )

    def batteries(self) -> dict[str, dict[str, Any]]:
        """Return the batteries of devices by name, as `BatteryConstants.read` takes them."""
        return {name: battery for _, battery, names in self._powered() for name in names}

    def second_battery(self) -> tuple[str, Place, Place] | None:
        """Return a device with two batteries, and the places of both entries; None without one."""
        places: dict[str, Place] = {}
        for place, _, names in self._powered():
            for name in names:
                if places.setdefault(name, place) is not place:
                    return name, places[name], place
        return None

    def _powered(self) -> Iterator[tuple[Place, dict[str, Any], Iterable[str]]]:
        """Yield place and battery of each entry with one, and the names of its devices."""
        for entry in self.entries():
            if battery := getattr(entry.fault, "battery", None):
                yield entry.place, battery, entry.names

    def _named(self, nodes: Iterable[str] | str) -> Iterator[str]:
        members = self._members
        if nodes == ALL:
            for group in self._groups:
                yield from members[group.name]
            return
        for name in nodes:
            yield from members.get(name, (name,))

    @cached_property
    def _members(self) -> dict[str, tuple[str, ...]]:
        return {group.name: group.names for group in self._groups}

    @cached_property
    def _bearers(self) -> dict[str, list[str]]:
        """Names of the devices with a failure profile, by profile."""
        bearers: dict[str, list[str]] = defaultdict(list)
        for group in self._groups:
            for profile in group.failures:
                bearers[profile.name] += self._members[group.name]
        return bearers


def _drawn(
    fault: Scheduled, names: Iterable[str], seed: int, profile: str, index: int
) -> frozenset[str]:
    """Draw the devices among `names` that `fault` strikes."""
    pool = list(names)
    wanted = fault.count if fault.count is not None else _part(fault.share or 0.0, len(pool))

    def rank(name: str) -> bytes:
        return sha256(chance.target(seed, name, profile, index).encode()).digest()

    return frozenset(nsmallest(wanted, pool, key=rank))


def _part(share: float, whole: int) -> int:
    """Return `share` of `whole` devices, rounded in decimal: 15 % of 10 devices are 2."""
    exact = Decimal(repr(float(share))) * whole
    return max(1, int(exact.to_integral_value(ROUND_HALF_UP)))
