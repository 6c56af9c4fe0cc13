"""Keys of a scenario that a runtime does not keep, each with the reason: a table, and what of it
applies to a scenario.

Every key of the file stands in `KEYS`; a test finds a key that does not. A key below `codec`,
`synchronization` or another family of plugins is kept by both runtimes: both make the plugin from
the same dataclass.
"""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from ..world.link import Link, Side
from .devices import Section
from .model import Scenario
from .reading.document import Address, place

SHOWN = 3
"""Places of a key that a line names, at most."""


def _always(scenario: Scenario, value: Any) -> bool:
    return True


@dataclass(frozen=True)
class Unkept:
    """Why one runtime does not keep a key."""

    on: str
    """The runtime, as `emulate run --on` names it."""
    why: str
    """A clause that follows the key's name and a colon."""
    when: Callable[[Scenario, Any], bool] = _always
    """Whether that is so for this scenario and this value of the key."""


def _nobody_learns(scenario: Scenario, value: Any) -> bool:
    return scenario.virtual.learner == "none"


KEPT: tuple[Unkept, ...] = ()

_REAL = Unkept("docker", "containers train for real and take what time that takes")
_TRAFFIC = Unkept(
    "virtual",
    "with `virtual.learner: none` nothing is learnt or measured, only traffic is played",
    _nobody_learns,
)

KEYS: dict[str, tuple[Unkept, ...]] = {
    "Scenario.name": KEPT,
    "Scenario.seed": KEPT,
    "Scenario.training": KEPT,
    "Scenario.evaluate": KEPT,
    "Scenario.stop": KEPT,
    "Scenario.targets": KEPT,
    "Scenario.server": KEPT,
    "Scenario.virtual": KEPT,
    "Scenario.devices": KEPT,
    "Scenario.faults": KEPT,
    "TrainingSection.dataset": KEPT,
    "TrainingSection.model": KEPT,
    "TrainingSection.split": (_TRAFFIC,),
    "TrainingSection.batch_size": KEPT,
    "TrainingSection.learning_rate": (_TRAFFIC,),
    "TrainingSection.optimizer": (_TRAFFIC,),
    "TrainingSection.codec": KEPT,
    "TrainingSection.modulation": (_TRAFFIC,),
    "TrainingSection.synchronization": KEPT,
    "TrainingSection.pull": (
        Unkept(
            "virtual",
            "with `virtual.learner: none` all updates hold the same entries, so a patch is no "
            "larger for a device that is far behind",
            lambda scenario, value: _nobody_learns(scenario, value) and value.kind == "delta",
        ),
    ),
    "TrainingSection.error_feedback": (_TRAFFIC,),
    "EvaluateSection.every": (_TRAFFIC,),
    "StopSection.updates": KEPT,
    "StopSection.accuracy": KEPT,
    "StopSection.time": KEPT,
    "ServerSection.link": KEPT,
    "ServerSection.checkpoint": (_TRAFFIC,),
    "ServerSection.encrypt": (
        Unkept(
            "virtual",
            "virtual time counts the bytes that encryption adds, and not the time of the server's "
            "and the devices' cores",
        ),
    ),
    "Checkpoint.every": KEPT,
    "Virtual.learner": (_REAL,),
    "Virtual.step": (_REAL,),
    "Virtual.boot": (_REAL,),
    "Virtual.serve": (_REAL,),
    "Virtual.tcp": (Unkept("docker", "the kernel's TCP carries what containers send"),),
    "Group.name": KEPT,
    "Group.count": KEPT,
    "Group.profile": KEPT,
    "Group.link": KEPT,
    "Group.failures": KEPT,
    "DeviceProfile.name": KEPT,
    "DeviceProfile.cpu": KEPT,
    "DeviceProfile.memory": (Unkept("virtual", "no device runs out of memory in virtual time"),),
    "FailureProfile.name": KEPT,
    "FailureProfile.faults": KEPT,
    "Link.up": KEPT,
    "Link.down": KEPT,
    "Side.rate": KEPT,
    "Side.delay": KEPT,
    "Side.jitter": KEPT,
    "Side.loss": (
        Unkept(
            "virtual",
            "with `virtual.tcp: false` nothing is lost, and a link loses no rate by it",
            lambda scenario, value: not scenario.virtual.tcp,
        ),
    ),
    "Side.setup": (
        Unkept(
            "docker",
            "containers send a message as soon as the link is free: only virtual time charges a "
            "set-up time",
        ),
    ),
}
"""For each key, by the class that holds it, the runtimes that do not keep it. A key of a section
stands for all that is inside it where the section's class is not in the table."""


@dataclass(frozen=True)
class Ignored:
    """Keys that a scenario sets and a runtime does not keep, all for one reason."""

    on: str
    keys: tuple[str, ...]
    """As `devices[1].link.up.setup`."""
    why: str

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"keys": list(self.keys), "why": self.why}

    def __str__(self) -> str:
        more = f" and {len(self.keys) - SHOWN} more" if len(self.keys) > SHOWN else ""
        return f"{', '.join(self.keys[:SHOWN])}{more}: {self.why}"


def unkept(scenario: Scenario, on: str) -> list[Ignored]:
    """Return what the runtime `on` does not keep of the keys that differ from their defaults."""
    found: dict[str, list[str]] = {}
    for address, key, value in _set(scenario, ()):
        for rule in KEYS.get(key, KEPT):
            if rule.on == on and rule.when(scenario, value):
                found.setdefault(rule.why, []).append(place(address))
    return [Ignored(on, tuple(keys), why) for why, keys in found.items()]


def _set(section: Any, at: Address) -> Iterator[tuple[Address, str, Any]]:
    """Yield address, name in `KEYS` and value of each key that is not as it is by default."""
    for name, default in _defaults(section):
        value, here = getattr(section, name), (*at, name)
        if value == default:
            continue
        yield here, f"{type(section).__name__}.{name}", value
        inside = enumerate(value) if isinstance(value, tuple) else [(None, value)]
        for index, part in inside:
            if isinstance(part, Section | Link | Side):
                yield from _set(part, here if index is None else (*here, index))


def _defaults(section: Any) -> Iterator[tuple[str, Any]]:
    """Yield each field of a section and its default; MISSING if it must be written."""
    if isinstance(section, BaseModel):
        for name, field in type(section).model_fields.items():
            required = field.is_required()
            yield name, MISSING if required else field.get_default(call_default_factory=True)
    elif is_dataclass(section):
        for one in fields(section):
            made = one.default_factory() if one.default_factory is not MISSING else one.default
            yield one.name, made
