"""The keys of a scenario that a runtime ignores, with the reasons.

Every key of the file stands in `KEYS`; a test finds a missing key. Both runtimes keep all keys of
codecs, synchronizations and the other families of plugins: both make a plugin from the same
dataclass.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from ..errors import first_of
from ..schedules import Sequential
from ..world.links.link import Link, Side
from ..world.links.reshaping import VERB
from ..world.stop_conditions import KNOWN
from .model import Scenario
from .reading.document import Address, place
from .sections.devices import Section
from .sections.training_section import begins_without_state
from .sections.workload_section import (
    MetricGoal,
    Program,
    Ready,
    ServerProgram,
    WorkloadSection,
)
from .timeline.compiled import presses

MOST_SHOWN = 3
"""Largest number of places of a key that one line names."""


def _always(scenario: Scenario, value: Any) -> bool:
    return True


@dataclass(frozen=True)
class Unkept:
    """A rule by which a runtime ignores a key."""

    on: str
    """Runtime, as `emulate run --on` names it."""
    why: str
    """Reason, as a clause that follows the key's name and a colon."""
    when: Callable[[Scenario, Any], bool] = _always
    """Returns whether the rule holds for a scenario and a value of the key."""


def _only_traffic(scenario: Scenario, value: Any) -> bool:
    return scenario.virtual.learner == "none"


def _begins_without_state(scenario: Scenario, value: Any) -> bool:
    return not _only_traffic(scenario, value) and begins_without_state(scenario.training)


def _set_ups_meet(scenario: Scenario, value: Any) -> bool:
    """Return whether messages of several devices, with set-ups, may share the server's link."""
    server = scenario.server.link
    links = [(group.link, group.count or 1) for group in scenario.devices]
    ups = [(link.up, count) for link, count in links]
    downs = [(link.down, count) for link, count in links]
    return _shared(server.down, ups) or _shared(server.up, downs)


def _shared(server: Side, groups: list[tuple[Side, int]]) -> bool:
    """Return whether messages of devices, with set-ups, may slow each other down on `server`.

    `groups` holds the side and the number of the devices of each group.
    """
    if server.rate is None or sum(count for _, count in groups) == 1:
        return False
    rates = sum(math.inf if side.rate is None else side.rate * count for side, count in groups)
    return rates > server.rate and any((server.setup, *(side.setup for side, _ in groups)))


KEPT: tuple[Unkept, ...] = ()

ONE_HOST = Unkept("docker", "one engine has one host: `--on swarm` has several")

_REAL = Unkept("docker", "containers train for real, so their times are measured, not assumed")
_TRAFFIC = Unkept(
    "virtual",
    "with `virtual.learner: none` nothing is learnt or measured, only traffic is played",
    _only_traffic,
)


_OTHER_STATE = (
    "its optimizer's state is not used, as it is of another kind of optimizer or missing; the "
    "parameters are used"
)

_LOSSLESS = Unkept(
    "virtual",
    "with `virtual.tcp: false` nothing is lost, so the loss does not lower a link's rate",
    lambda scenario, value: not scenario.virtual.tcp,
)

_IN_ORDER = Unkept(
    "virtual", "in virtual time no message of a connection overtakes another, as TCP delivers it"
)

KEYS: dict[str, tuple[Unkept, ...]] = {
    "Scenario.name": KEPT,
    "Scenario.seed": KEPT,
    "Scenario.training": KEPT,
    "Scenario.workload": KEPT,
    **dict.fromkeys(
        (
            *(f"WorkloadSection.{key}" for key in WorkloadSection.model_fields),
            *(f"Program.{key}" for key in Program.model_fields),
            *(f"ServerProgram.{key}" for key in ServerProgram.model_fields),
            *(f"Ready.{key}" for key in Ready.model_fields),
            *(f"MetricGoal.{key}" for key in MetricGoal.model_fields),
        ),
        KEPT,
    ),
    "Scenario.evaluate": KEPT,
    "Scenario.measure": KEPT,
    "Scenario.stop": KEPT,
    "Scenario.targets": (_TRAFFIC,),
    "Scenario.server": KEPT,
    "Scenario.time": KEPT,
    "Scenario.tcp": KEPT,
    "TcpSection.congestion": (
        Unkept(
            "virtual",
            "with `virtual.tcp: false` links are ideal, and no congestion control is modelled",
            lambda scenario, value: not scenario.virtual.tcp,
        ),
    ),
    "Scenario.virtual": KEPT,
    "Scenario.devices": KEPT,
    "Scenario.bottlenecks": KEPT,
    "Scenario.network": KEPT,
    "Scenario.faults": KEPT,
    "Scenario.report": KEPT,
    "ReportSection.figures": KEPT,
    "TrainingSection.dataset": KEPT,
    "TrainingSection.model": KEPT,
    "TrainingSection.loss": (_TRAFFIC,),
    "TrainingSection.split": (_TRAFFIC,),
    "TrainingSection.batch_size": KEPT,
    "TrainingSection.learning_rate": (_TRAFFIC,),
    "TrainingSection.optimizer": (_TRAFFIC,),
    "TrainingSection.aggregation": (_TRAFFIC,),
    "TrainingSection.codec": KEPT,
    "TrainingSection.modulation": (_TRAFFIC,),
    "TrainingSection.synchronization": KEPT,
    "TrainingSection.pull": (
        Unkept(
            "virtual",
            "with `virtual.learner: none` all updates hold the same entries, so a patch is no "
            "larger for a device that is far behind",
            lambda scenario, value: _only_traffic(scenario, value) and value.kind == "delta",
        ),
    ),
    "TrainingSection.schedule": KEPT,
    "TrainingSection.initial": (
        _TRAFFIC,
        Unkept("docker", _OTHER_STATE, _begins_without_state),
        Unkept("virtual", _OTHER_STATE, _begins_without_state),
    ),
    "TrainingSection.fully_connected": KEPT,
    "TrainingSection.error_feedback": (_TRAFFIC,),
    "FullyConnected.place": KEPT,
    "FullyConnected.labels": KEPT,
    "FullyConnected.values": KEPT,
    "After.after": KEPT,
    "EvaluateSection.every": (_TRAFFIC,),
    "EvaluateSection.when": (_TRAFFIC,),
    "MeasureSection.momentum": KEPT,
    "MeasureSection.compression": KEPT,
    "CompressionSection.every": KEPT,
    "MomentumSection.steps": KEPT,
    "MomentumSection.examples": KEPT,
    "MomentumSection.directions": KEPT,
    **{f"StopSection.{key}": KEPT for key in KNOWN},
    "ServerSection.link": KEPT,
    "ServerSection.checkpoint": (_TRAFFIC,),
    "ServerSection.encrypt": (
        Unkept(
            "virtual",
            "virtual time counts the bytes that encryption adds, but not the computing time that "
            "encryption takes on the server and the devices",
        ),
    ),
    "ServerSection.quarantine": KEPT,
    "ServerSection.relay": (
        ONE_HOST,
        Unkept("virtual", "virtual time has no hosts between which a relay could stand"),
    ),
    "ServerSection.shards": KEPT,
    "QuarantineSection.refusals": KEPT,
    "QuarantineSection.within": KEPT,
    "QuarantineSection.lasts": KEPT,
    "Checkpoint.every": KEPT,
    "ServerSection.durability": KEPT,
    "SavedEvery.every": KEPT,
    "TimeSection.dilation": (
        Unkept(
            "virtual",
            "virtual time waits for no core of the host, so nothing has to be slower",
            lambda scenario, value: value != 1.0,
        ),
    ),
    "Virtual.learner": (_REAL,),
    "Virtual.step": (_REAL,),
    "Virtual.dealt": (_REAL,),
    "DealtStep.examples": KEPT,
    "DealtStep.step": KEPT,
    "Virtual.boot": (_REAL,),
    "Virtual.serve": (_REAL,),
    "Virtual.dense": (
        _REAL,
        Unkept(
            "virtual",
            "the server computes no layers without `training.fully_connected`",
            lambda scenario, value: scenario.training.cut is None,
        ),
    ),
    "Virtual.layers": (
        _REAL,
        Unkept(
            "virtual",
            "models and updates travel whole without a `training.schedule` that cuts them, so no "
            "layer's own time counts",
            lambda scenario, value: (
                scenario.training.cutting == Sequential() and scenario.training.cut is None
            ),
        ),
    ),
    "Virtual.tcp": (Unkept("docker", "the kernel's TCP carries what containers send"),),
    "LayerShares.forward": KEPT,
    "LayerShares.backward": KEPT,
    "Group.name": KEPT,
    "Group.count": KEPT,
    "Group.profile": KEPT,
    "Group.link": KEPT,
    "Group.failures": KEPT,
    "Group.background": KEPT,
    "Group.host": (
        ONE_HOST,
        Unkept("virtual", "virtual time needs no host for a device"),
    ),
    "Bottleneck.name": KEPT,
    "Bottleneck.up": KEPT,
    "Bottleneck.down": KEPT,
    "Bottleneck.members": KEPT,
    "Bottleneck.background": KEPT,
    **{
        f"NetworkSection.{key}": KEPT
        for key in ("routers", "links", "file", "topohub", "link", "attach", "server")
    },
    **{f"NetworkLink.{key}": KEPT for key in ("name", "between", "up", "down", "background")},
    "Background.up": KEPT,
    "Background.down": KEPT,
    "Background.kind": KEPT,
    **{f"BackgroundSide.{key}": KEPT for key in ("rate", "law", "size", "on", "off", "trace")},
    "DeviceProfile.name": KEPT,
    "DeviceProfile.cpu": KEPT,
    "DeviceProfile.memory": (
        Unkept(
            "virtual",
            "no device runs out of memory in virtual time without a fault that takes some",
            lambda scenario, value: not presses(scenario),
        ),
    ),
    "FailureProfile.name": KEPT,
    "FailureProfile.faults": KEPT,
    "Link.up": KEPT,
    "Link.down": KEPT,
    "Side.rate": KEPT,
    "Side.delay": KEPT,
    "Side.jitter": KEPT,
    "Side.loss": (_LOSSLESS,),
    "Side.distribution": KEPT,
    "Side.correlation": KEPT,
    "Side.loss_model": (_LOSSLESS,),
    "Side.duplicate": KEPT,
    "Side.corrupt": (_LOSSLESS,),
    "Side.reorder": (_IN_ORDER,),
    "Side.gap": (_IN_ORDER,),
    "Side.limit": (
        Unkept("virtual", "virtual time models no queue that overflows, so nothing is dropped"),
    ),
    "Side.overhead": KEPT,
    "Side.steps": KEPT,
    "Side.trace": KEPT,
    "Side.setup": (
        Unkept(
            "docker",
            "the kernel sends messages without pauses for set-ups, so while several devices share "
            "the rate of the server's link, messages may arrive too early or too late",
            _set_ups_meet,
        ),
    ),
}
"""For each key, named by its class and field, the rules by which runtimes ignore it. A key whose
value's class is not in the table stands for everything inside that value."""


@dataclass(frozen=True)
class Ignored:
    """Keys of a scenario that a runtime ignores for the same reason."""

    on: str
    keys: tuple[str, ...]
    """Places of the keys, for example `devices[1].profile.memory`."""
    why: str

    def plain(self) -> dict[str, Any]:
        """Return the keys and the reason as JSON types."""
        return {"keys": list(self.keys), "why": self.why}

    def __str__(self) -> str:
        return f"{first_of(self.keys, MOST_SHOWN)}: {self.why}"


def unkept(scenario: Scenario, on: str) -> list[Ignored]:
    """Return the keys of `scenario` that differ from their defaults and that the runtime `on`
    ignores, grouped by reason. Keys of faults are named that change nothing where they strike.
    """
    by_reason: dict[str, list[str]] = {}
    for address, key, value in _set(scenario, ()):
        for rule in KEYS.get(key, KEPT):
            if _holds(rule, on) and rule.when(scenario, value):
                by_reason.setdefault(rule.why, []).append(place(address))
    for at, why in _idle_keys(scenario, on):
        by_reason.setdefault(why, []).append(at)
    return [Ignored(on, tuple(keys), why) for why, keys in by_reason.items()]


def _holds(rule: Unkept, on: str) -> bool:
    """Return whether `rule` is of the runtime `on`: a swarm's containers are as those of one
    engine."""
    return rule.on == on or (on == "swarm" and rule.on == "docker" and rule is not ONE_HOST)


def _set(section: Any, at: Address) -> Iterator[tuple[Address, str, Any]]:
    """Yield the address, the name in `KEYS` and the value of every key with a value other than its
    default, in `section` at the address `at` and in the sections inside.
    """
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
    """Yield every field of `section` with its default, or with MISSING for a required key."""
    if isinstance(section, BaseModel):
        for name, field in type(section).model_fields.items():
            required = field.is_required()
            # pydantic 2.10.0 wants the data even for factories that take none
            default = field.get_default(call_default_factory=True, validated_data={})
            yield name, MISSING if required else default
    elif is_dataclass(section):
        for part in fields(section):
            factory = part.default_factory
            yield part.name, part.default if factory is MISSING else factory()


_NAMED = 3
"""Largest number of devices that a message names."""


def _idle_keys(scenario: Scenario, on: str) -> Iterator[tuple[str, str]]:
    """Yield place and reason for each key of a fault without an effect on the runtime `on`."""
    for entry in scenario.targets_of_faults.entries():
        begin = entry.fault.begin("")
        setting = begin.setting or {}
        if begin.verb != VERB:
            continue
        if "rate" in setting and (unlimited := _unlimited(scenario, entry.names)):
            yield (
                place((*entry.place, "rate")),
                f"the link of {first_of(unlimited, _NAMED)} has no rate of which a share could "
                "be left: give the link a rate, or the fault a `link` in place of `rate`",
            )
        if "loss" in setting and on == "virtual" and not scenario.virtual.tcp:
            yield (
                place((*entry.place, "loss")),
                "with `virtual.tcp: false` nothing is lost: leave one of the two out",
            )


def _unlimited(scenario: Scenario, names: Sequence[str]) -> list[str]:
    """Return the devices among `names` with a link without a rate in both directions."""
    struck = frozenset(names)
    groups = (g for g in scenario.devices if g.link.up.rate is None and g.link.down.rate is None)
    return [name for group in groups for name in group.names if name in struck]
