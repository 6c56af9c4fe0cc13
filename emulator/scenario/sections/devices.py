"""Devices of a scenario: groups of equal devices, their hardware profiles and failure profiles.

The section `bottlenecks` has queues that several devices share.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ...errors import shortened
from ...units import Bytes, Rate, Seconds, Share
from ...world.cpu_quota import LEAST, core_share
from ...world.faults import FAMILY, FAULTS, Recurring
from ...world.laws import Exponential, Law
from ...world.links.bottleneck import SharedLink, SharedSide
from ...world.links.link import ETHERNET, Link
from ...world.links.link_steps import PlayedTrace
from ...world.roles import EVALUATOR, SERVER
from .fields import AnyLaw, Kinds, NotEmpty, Profiled, recurring

MEMORY = Bytes(256 << 20)
"""Memory limit of a device without a `memory` in its profile."""

LEAST_MEMORY = Bytes(128 << 20)
"""Smallest memory limit: a worker needs up to 100 MiB, and one with less than this cannot start."""

LEAST_SHARE = Share(LEAST)
"""Smallest CPU share: the kernel hands out processor time in slices of about 1 % of a core."""

MOST_DEVICES = 1_000_000
"""Largest `count` of a group."""

RESERVED = (SERVER, EVALUATOR)
"""Names of the nodes that every run has beside its devices; no device may take one."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST = 40


class Section(BaseModel):
    """A mapping of the scenario file: immutable, and strict about unknown keys and types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def device_name(name: str) -> str:
    """Return `name` if a node may bear it; raise ValueError if not."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{shortened(name)}: a name is of a-z, 0-9 and inner hyphens, as farm-3")
    if name in RESERVED:
        raise ValueError(f"{name!r} is the name of another role: choose another name")
    return name


class DeviceProfile(Section):
    """Hardware of a device, relative to this host: a share of a core and a memory limit."""

    name: str | None = None
    """Name of the hardware, for example `raspberry-pi-4`. A profile read from a file bears the
    file's name."""
    cpu: Share | None = None
    """CPU quota of the device as a share of one core of this host, for example `20%`. Without
    `cpu` the device has no quota."""
    memory: Bytes = MEMORY
    """Memory limit of the device's processes, for example `512MiB`."""

    @model_validator(mode="after")
    def _can_run(self) -> "DeviceProfile":
        if self.memory < LEAST_MEMORY:
            raise ValueError(f"memory {self.memory} is too small to train: give {LEAST_MEMORY}")
        if self.cpu is not None and self.cpu < LEAST_SHARE:
            raise ValueError(f"cpu {self.cpu} is too small to be given: at least {LEAST_SHARE}")
        return self


AnyRecurring = Annotated[
    Recurring,
    Kinds(map(recurring, FAULTS.values()), bare=False, family=FAMILY, made=recurring),
]


class FailureProfile(Section):
    """Failure profile: faults that strike a device again and again, at random times."""

    name: str
    """Name of the profile. The random numbers of its faults depend on the seed, the device's name
    and this name, wherever the profile stands in the file."""
    faults: Annotated[tuple[AnyRecurring, ...], NotEmpty("name at least one fault")]
    """Recurring faults of the profile, for example
    `{kind: crash, every: {exponential: 10min}, lasts: 1min}`."""


def _distinct(failures: tuple[FailureProfile, ...]) -> tuple[FailureProfile, ...]:
    names = [profile.name for profile in failures]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:  # the name is part of the random stream's: both would draw the same times
        raise ValueError(f"two failure profiles are named {shortened(twice)}")
    return failures


ARRIVAL = Bytes(ETHERNET)
"""Size of an arrival of background traffic by the law `poisson`: a full frame."""

BURST = Exponential(Seconds(10))
"""Law of the times of background traffic by the law `on-off`."""


class BackgroundSide(Section):
    """Direction of background traffic: the rate that a stranger's stream offers over time."""

    rate: Rate | None = None
    """Rate of Ethernet frames: with `poisson` the mean, with `on-off` that of the times in which
    the stream is on. Not with `trace`."""
    law: Literal["constant", "poisson", "on-off", "trace"] = "constant"
    """Law of the rate: always the same; arrivals at random times; on and off in turns; or that of a
    trace."""
    size: Bytes | None = None
    """Size of each arrival with `poisson`, for example `64KiB`; the larger, the burstier. Default:
    a full frame, `1514B`."""
    on: AnyLaw | None = None
    """Time for which the stream is on, a law, with `on-off`. Default: `{exponential: 10s}`."""
    off: AnyLaw | None = None
    """Time for which the stream is off, a law, with `on-off`. Default: `{exponential: 10s}`."""
    trace: PlayedTrace | None = None
    """Trace with the rate, with `trace`: `./tv.csv` or a mapping, as a link's trace."""

    @model_validator(mode="after")
    def _one_law(self) -> "BackgroundSide":
        needed = "trace" if self.law == "trace" else "rate"
        own = {"poisson": ("size",), "on-off": ("on", "off")}.get(self.law, ())
        keys = ("rate", "size", "on", "off", "trace")
        given = [key for key in keys if getattr(self, key) is not None]
        if needed not in given:
            raise ValueError(f"the law {self.law!r} needs `{needed}`")
        if other := [key for key in given if key not in (needed, *own)]:
            raise ValueError(f"the law {self.law!r} has no {' and no '.join(other)}: leave it out")
        if self.size is not None and not self.size > 0:
            raise ValueError(f"size {self.size} is not above zero")
        return self

    @property
    def arrival(self) -> Bytes:
        """Size of an arrival with `poisson`."""
        return ARRIVAL if self.size is None else self.size

    @property
    def times(self) -> tuple[Law, Law]:
        """Laws of the times on and off with `on-off`."""
        return self.on or BURST, self.off or BURST


class Background(Section):
    """Background traffic of others on the same links, beside the training."""

    up: BackgroundSide | None = None
    """Stream in the direction of the link's `up`."""
    down: BackgroundSide | None = None
    """Stream in the direction of the link's `down`."""
    kind: Literal["udp", "tcp"] = "udp"
    """Kind of the streams: `udp` takes what it offers before others, `tcp` shares fairly, and has
    no more than it offers."""

    @model_validator(mode="after")
    def _some(self) -> "Background":
        if self.up is None and self.down is None:
            raise ValueError("is no traffic: give `up`, `down` or both")
        return self


class Group(Section):
    """Group of devices: one device, or `count` equal devices."""

    name: Annotated[str, AfterValidator(device_name)]
    """Name of the group, and of its device if the group has no `count`. With `count` the devices
    are named `NAME-0`, `NAME-1`, …"""
    count: Annotated[int, Field(ge=1, le=MOST_DEVICES)] | None = None
    """Number of devices in the group, named `NAME-0`, `NAME-1`, … Without `count` the group is one
    device called `NAME`."""
    profile: Annotated[DeviceProfile, Profiled("device profile")] | None = None
    """Hardware profile of each device: its CPU quota and memory limit. Without `profile` a device
    has no CPU quota."""
    link: Annotated[Link, Profiled("link preset")] = Field(default_factory=Link)
    """Access link of each device. Without `link`, or without one of its sides, traffic is
    unshaped."""
    failures: Annotated[
        tuple[Annotated[FailureProfile, Profiled("failure profile")], ...],
        AfterValidator(_distinct),
    ] = ()
    """Failure profiles of each device: every device draws its own failures."""
    background: Background | None = None
    """Background traffic on the link of each device, beside the device: it crosses the link, the
    device's bottleneck and its route through the network, but not the server's link."""
    host: Annotated[str, Field(min_length=1)] | None = None
    """Host of the devices with `--on swarm`: the name of a node of the swarm, or the value of its
    label `emulate.host`, which several nodes may have. Without `host` a device runs where the most
    cores are free."""

    @model_validator(mode="after")
    def _names_fit(self) -> "Group":
        longest = max(self.names, key=len)
        if len(longest) > _LONGEST:
            raise ValueError(f"{shortened(longest)} is longer than {_LONGEST} characters")
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the group's devices, in order."""
        return device_names(self.name, self.count)

    @property
    def core(self) -> float:
        """Share of a core that the worker of each device can use."""
        return core_share(None if self.profile is None else self.profile.cpu)


def device_names(name: str, count: int | None) -> tuple[str, ...]:
    """Return the names of the devices of a group with `name` and `count`, in order."""
    return (name,) if count is None else tuple(f"{name}-{index}" for index in range(count))


@dataclass(frozen=True, slots=True)
class Device:
    """A device with the resolved settings of its group."""

    name: str
    group: str
    profile: str | None
    cpu: float | None
    """CPU quota in cores of this host, 0.2 being a fifth of a core; None means no quota."""
    memory: int
    """Memory limit of the device's processes, in bytes."""
    link: Link
    failures: tuple[FailureProfile, ...]
    hazards: tuple[dict[str, Any], ...]
    """Faults that the device draws for each iteration, as `faults.Hazard` takes them."""
    host: str | None
    """Name or label of the swarm's nodes that it may run on; None: all."""


def expand(group: Group) -> tuple[Device, ...]:
    """Return the devices of `group`, in order."""
    profile = group.profile or DeviceProfile()
    cpu = None if profile.cpu is None else float(profile.cpu)
    drawn = (fault.hazard() for failure in group.failures for fault in failure.faults)
    hazards = tuple(hazard for hazard in drawn if hazard is not None)
    # one tuple for the whole group: its devices share these objects, a million of them too
    common = profile.name, cpu, int(profile.memory), group.link, group.failures, hazards, group.host
    return tuple(Device(name, group.name, *common) for name in group.names)


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
    background: Background | None = None
    """Background traffic through the bottleneck, beside that of the members."""

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
