"""The scenario's section `bottlenecks`: queues that several devices share."""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import AfterValidator, Field

from ...world.links.bottleneck import SharedLink, SharedSide
from .devices import Group, Section, device_name
from .fields import NotEmpty


class Bottleneck(Section):
    """Bottleneck: a queue that the traffic of several devices shares, such as a home's gateway or a
    cell, between the devices' own links and the server's link."""

    name: Annotated[str, AfterValidator(device_name)]
    """Name of the bottleneck, unlike that of any device."""
    up: SharedSide = Field(default_factory=SharedSide)
    """Shared direction from the members to the server: `rate`, `delay`. `up`, `down` or both need a
    rate."""
    down: SharedSide = Field(default_factory=SharedSide)
    """Shared direction from the server to the members: `rate`, `delay`."""
    members: Annotated[tuple[str, ...], NotEmpty("name the devices behind the bottleneck")]
    """Members: names of devices and of groups, and patterns with `*`, as `home-*`. A device is
    behind one bottleneck at most."""

    @property
    def shared(self) -> SharedLink:
        """Both directions."""
        return SharedLink(self.up, self.down)


class DeviceNames:
    """The names of devices and groups, by which the members of bottlenecks are found."""

    def __init__(self, groups: Iterable[tuple[str, Sequence[str]]]) -> None:
        """`groups` has name and device names of each group."""
        self._devices = dict(groups)
        self._single = {name for names in self._devices.values() for name in names}

    def __iter__(self) -> Iterator[str]:
        for group, names in self._devices.items():
            yield from dict.fromkeys((group, *names))

    def of(self, member: str) -> Iterator[str]:
        """Yield the devices that `member` names, which may be a pattern."""
        if member in self._devices:
            yield from self._devices[member]
        elif member in self._single:
            yield member
        elif "*" in member:
            for group, names in self._devices.items():
                whole = fnmatchcase(group, member)
                yield from (name for name in names if whole or fnmatchcase(name, member))


def by_member(bottlenecks: Iterable[Bottleneck], groups: Iterable[Group]) -> dict[str, Bottleneck]:
    """Return the bottleneck of each device that is behind one, in the order of the devices."""
    named = [(group.name, group.names) for group in groups]
    known = DeviceNames(named)
    found = {
        device: bottleneck
        for bottleneck in bottlenecks
        for member in bottleneck.members
        for device in known.of(member)
    }
    return {name: found[name] for _, names in named for name in names if name in found}
