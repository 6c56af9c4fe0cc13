"""Who takes part: groups of devices alike, what they are made of, and how they fail."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ..faults import FAULTS, Recurring, scheduled
from ..units import Bytes, Share
from ..world.link import Link
from ..world.roles import EVALUATOR, SERVER
from .fields import AnyLaw, Kinds, NotEmpty, Profiled

MEMORY = Bytes(256 << 20)
"""The memory limit of a device whose profile names none."""

LEAST_MEMORY = Bytes(128 << 20)
"""A worker keeps up to 100 MiB for itself: with less than this it would not even start."""

LEAST_SHARE = Share(0.01)
"""The kernel hands out processor time in slices: less than a hundredth of a core is none."""

MOST = 1_000_000
"""Devices of one group."""

RESERVED = (SERVER, EVALUATOR)
"""Names of nodes that every run has beside its devices."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST = 40


class Section(BaseModel):
    """A part of a scenario: it cannot change, and a key that it does not know is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


def _device_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r}: a name is of a-z, 0-9 and inner hyphens, as farm-3")
    if name in RESERVED:
        raise ValueError(f"{name!r} is the name of another role: choose another one")
    return name


class DeviceProfile(Section):
    """What a device's hardware can do, relative to this host."""

    name: str | None = None
    """What the device is, as `raspberry-pi-4`; a profile's file gives it its own name."""
    cpu: Share | None = None
    """The share of one core of this host that it may use, as 20%; without it, no quota."""
    memory: Bytes = MEMORY
    """The most memory that its processes may take."""

    @model_validator(mode="after")
    def _can_run(self) -> "DeviceProfile":
        if self.memory < LEAST_MEMORY:
            raise ValueError(f"memory {self.memory} is too small to train: give {LEAST_MEMORY}")
        if self.cpu is not None and self.cpu < LEAST_SHARE:
            raise ValueError(f"cpu {self.cpu} is too small to be given: at least {LEAST_SHARE}")
        return self


_LAWS = {"every": AnyLaw | None, "lasts": AnyLaw | None}
AnyRecurring = Annotated[
    Recurring, Kinds([scheduled(Recurring, fault, _LAWS) for fault in FAULTS.values()], bare=False)
]


class FailureProfile(Section):
    """How a kind of device fails, again and again."""

    name: str
    """What names its dice, so that its failures are drawn alike wherever it stands."""
    faults: Annotated[tuple[AnyRecurring, ...], NotEmpty("say what happens to the device")]
    """What happens, as `{kind: crash, every: {exponential: 10min}, lasts: 1min}`."""


def _told_apart(failures: tuple[FailureProfile, ...]) -> tuple[FailureProfile, ...]:
    names = [profile.name for profile in failures]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:  # the name is that of the dice: both would fail at the same moments
        raise ValueError(f"two failure profiles are named {twice!r}")
    return failures


class Group(Section):
    """One device, or `count` of them that are alike."""

    name: Annotated[str, AfterValidator(_device_name)]
    """The device's name; with `count`, its devices are name-0, name-1, …"""
    count: Annotated[int, Field(ge=1, le=MOST)] | None = None
    """How many; without it, one that bears the name itself."""
    profile: Annotated[DeviceProfile, Profiled("a device profile")] | None = None
    """The hardware; without it, a core of the host itself."""
    link: Annotated[Link, Profiled("a link preset")] = Field(default_factory=Link)
    """The access link; without it, or a side of it, unshaped."""
    failures: Annotated[
        tuple[Annotated[FailureProfile, Profiled("a failure profile")], ...],
        AfterValidator(_told_apart),
    ] = ()
    """How each of them fails by itself."""

    @model_validator(mode="after")
    def _names_fit(self) -> "Group":
        longest = max(self.names, key=len)
        if len(longest) > _LONGEST:
            raise ValueError(f"{longest!r} is longer than {_LONGEST} characters")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Of its devices."""
        return names(self.name, self.count)


def names(name: str, count: int | None) -> tuple[str, ...]:
    """The devices that a group of this name has."""
    return (name,) if count is None else tuple(f"{name}-{index}" for index in range(count))


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the world, its group's description resolved."""

    name: str
    group: str
    profile: str | None
    cpu: float | None
    """Cores of this host that it may use, 0.2 being a fifth of one; None: no quota."""
    memory: int
    """Bytes that its processes may take at most."""
    link: Link
    failures: tuple[FailureProfile, ...]
    hazards: tuple[dict[str, Any], ...]
    """The faults that it must draw itself, as `faults.Hazard` takes them."""


def expand(group: Group) -> tuple[Device, ...]:
    """The group's devices, in order."""
    profile = group.profile or DeviceProfile()
    cpu = None if profile.cpu is None else float(profile.cpu)
    drawn = (fault.hazard() for profile in group.failures for fault in profile.faults)
    hazards = tuple(one for one in drawn if one is not None)
    alike = profile.name, cpu, int(profile.memory), group.link, group.failures, hazards
    return tuple(Device(name, group.name, *alike) for name in group.names)
