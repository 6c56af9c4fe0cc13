"""The scenario file's format: training, devices, links and faults of an experiment.

Each class is a mapping of the file and each field a key; the docstrings are the descriptions in
the JSON schema. Read a file with `load`: it also makes the checks that need more than one key.
"""

import re
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, model_validator

from ..errors import shortened
from ..units import Fraction
from ..world.faults import FAMILY, FAULTS, Aimed
from ..world.links.bottleneck import SharedLink
from ..world.links.network_routes import Route
from ..world.stop_conditions import CONDITIONS, KNOWN, Stop
from .sections.devices import Background, Bottleneck, Device, Group, Section, by_member, expand
from .sections.fault_targets import FaultTargets
from .sections.fields import Duration, Kinds, NotEmpty, aimed
from .sections.network_section import NetworkLink, NetworkSection
from .sections.run_sections import AUTO, MeasureSection, ReportSection, TcpSection, TimeSection
from .sections.server_section import ServerSection
from .sections.training_section import TrainingSection
from .sections.virtual_section import Virtual
from .sections.workload_section import AnyGoal, NoTraining, WorkloadSection

FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names that a scenario may have: its runs have a folder of this name."""


class EvaluateSection(Section):
    """Measurements of the model's accuracy and loss on the test set."""

    every: Annotated[int, Field(ge=1)] = 200
    """Number of updates between two measurements."""
    when: Literal["during", "after"] = "during"
    """Time of the measurements in containers: `during` the training, or `after` the devices have
    gone, so that the evaluator takes no core from devices that train. With `after` the server keeps
    each version that is due on its disk, 4 bytes a parameter."""

    @property
    def later(self) -> bool:
        """Whether versions are measured after a run in containers."""
        return self.when == "after"


def _true(value: bool) -> bool:
    if not value:
        raise ValueError("false is what holds without the key: write true, or leave it out")
    return value


class StopSection(Section):
    """Stop conditions: the first condition to be met ends the run. At least one is required."""

    updates: Annotated[int, Field(ge=1)] | None = None
    """Stop after this number of updates, for example `3000`."""
    accuracy: Fraction | None = None
    """Stop when the test accuracy reaches this share, for example `97%`."""
    loss: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Stop when the loss on the test set is at most this number, for example `0.1`."""
    time: Duration | None = None
    """Stop after this time, for example `10min`. The time starts when every device and the
    evaluator have said hello to the server; of a workload, when its programs run."""
    driver: Annotated[bool, AfterValidator(_true)] | None = None
    """Stop a workload when its driver ends, or without a driver the program of its server."""
    metric: Annotated[dict[str, AnyGoal], Field(min_length=1)] | None = None
    """Stop a workload when a metric that its server or its driver prints reaches a bound, for
    example `{accuracy: 97%}`, at least so much, or `{loss: {most: 0.1}}`. Of several the first
    counts."""

    @model_validator(mode="after")
    def _some(self) -> "StopSection":
        if not self.limits:
            *keys, last = KNOWN
            raise ValueError(f"is empty: give {', '.join(keys)} or {last}")
        return self

    @property
    def limits(self) -> dict[str, Any]:
        """The limits that are given, by their keys."""
        given = {key: getattr(self, key) for key in KNOWN}
        return {key: limit for key, limit in given.items() if limit is not None}

    @property
    def planned(self) -> Stop:
        """The limits of a training as a plan has them, in base units."""
        limits: dict[str, Any] = {
            key: limit if isinstance(limit, int) else float(limit)
            for key, limit in self.limits.items()
            if key in CONDITIONS
        }
        return Stop(**limits)


AnyAimed = Annotated[
    Aimed,
    Kinds(map(aimed, FAULTS.values()), bare=False, family=FAMILY, made=aimed),
]


def _ascending(targets: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    if not all(targets):
        raise ValueError("0%: a target must be above zero, as every model reaches zero")
    return tuple(sorted(set(targets)))


def _folder_name(name: str) -> str:
    if not FOLDER_NAME.fullmatch(name):
        raise ValueError(
            f"{shortened(name)} is no name for a folder: write up to 64 letters, digits, '.', '_' "
            "and '-', a letter or digit first"
        )
    return name


class Scenario(Section):
    """Scenario: an experiment in which devices train a model together, over shaped links, while
    faults strike."""

    name: Annotated[str, AfterValidator(_folder_name)]
    """Name of the scenario. Its runs are kept in the folder `runs/NAME`."""
    seed: int = 0
    """Seed of all random numbers: the same scenario with the same seed has the same data split,
    initial model and schedule of faults."""
    training: TrainingSection = Field(default_factory=lambda: cast(TrainingSection, NoTraining()))
    """Training: the data set, the model, and the algorithm with its parts. Give either `training`
    or `workload`."""
    workload: WorkloadSection | None = None
    """Workload: programs of your own, in place of `training`, behind the same links and failures.
    Give either `training` or `workload`."""
    evaluate: EvaluateSection = Field(default_factory=EvaluateSection)
    """Measurements of the model's accuracy and loss on the test set."""
    measure: MeasureSection | None = None
    """Measurements that cost memory or time, such as that of momentum."""
    stop: StopSection
    """Stop conditions: the first condition to be met ends the run."""
    targets: Annotated[
        tuple[Fraction, ...], NotEmpty("name at least one accuracy"), AfterValidator(_ascending)
    ] = Field(default_factory=lambda: (Fraction(0.9), Fraction(0.95), Fraction(0.97)))
    """Target accuracies on the test set. The summary and the tables give the time, updates and
    bytes that the run needed to reach each of them."""
    server: ServerSection = Field(default_factory=ServerSection)
    """Parameter server: link, checkpoints, quarantine and encryption."""
    time: TimeSection | None = None
    """Time of the run in containers: the time dilation. Without `time` containers play in real
    time."""
    tcp: TcpSection | None = None
    """TCP of every node. Without `tcp` containers use the host's congestion control, which the
    manifest names, and virtual time models cubic."""
    virtual: Virtual = Field(default_factory=Virtual)
    """Assumptions of virtual time: computing times, and the model of TCP."""
    devices: Annotated[tuple[Group, ...], NotEmpty("name at least one device")]
    """Devices that train: one entry for each device or group of equal devices."""
    bottlenecks: tuple[Bottleneck, ...] = ()
    """Bottlenecks: queues that several devices share, between their own links and the server's
    link."""
    network: NetworkSection | None = None
    """Network of routers between the devices' links, or their bottlenecks, and the server's
    link."""
    faults: tuple[AnyAimed, ...] = ()
    """Faults aimed at named devices, in addition to the devices' own failure profiles: at given
    times, again and again, or drawn in each iteration."""
    report: ReportSection | None = None
    """Report of the run: figures of your own."""

    @cached_property
    def nodes(self) -> tuple[Device, ...]:
        """Devices of all groups, in the order of the file."""
        hazards = self.targets_of_faults.hazards()
        devices = (device for group in self.devices for device in expand(group))
        return tuple(
            replace(device, hazards=hazards[device.name]) if device.name in hazards else device
            for device in devices
        )

    @property
    def described(self) -> str:
        """The algorithm of the training, or the workload, in a few words."""
        return self.workload.described if self.workload else self.training.described

    @property
    def evaluates(self) -> bool:
        """Whether an evaluator takes part in a run in containers."""
        return self.workload is None and not self.evaluate.later

    @property
    def mean_batches(self) -> int:
        """Mini-batches between a model and its update, of a device with an equal share of the
        training examples."""
        examples = self.training.data.sizes["train"] // len(self.nodes)
        return self.training.local.batches(examples, self.training.batch_size)

    @property
    def dilation(self) -> float:
        """Time dilation of a run in containers. Raises TypeError while `auto` is unresolved."""
        dilation = self.time.dilation if self.time else 1.0
        if dilation == AUTO:
            raise TypeError("time.dilation must be known")
        return float(dilation)

    @cached_property
    def bottleneck_of(self) -> dict[str, Bottleneck]:
        """The bottlenecks of the devices that are behind one, by the device's name."""
        return by_member(self.bottlenecks, self.devices)

    @cached_property
    def route_of(self) -> dict[str, Route]:
        """The routes of all devices through the network, by name; empty without a network."""
        if self.network is None:
            return {}
        attached = self.network.routers_of(self.devices)
        return {name: self.network.routes[router] for name, router in attached.items()}

    @cached_property
    def behind_links(self) -> dict[str, tuple[str, ...]]:
        """Names of the devices whose packets pass each link of the network, by name of the link."""
        behind: dict[str, list[str]] = {each.name: [] for each in self.network_links}
        for name, route in self.route_of.items():
            for link in route.names:
                behind[link].append(name)
        return {link: tuple(names) for link, names in behind.items()}

    @cached_property
    def behind_queues(self) -> dict[str, tuple[str, ...]]:
        """Names of the devices behind each bottleneck and each link of the network, by its name."""
        members: dict[str, list[str]] = {each.name: [] for each in self.bottlenecks}
        for name, bottleneck in self.bottleneck_of.items():
            members[bottleneck.name].append(name)
        return {**{queue: tuple(names) for queue, names in members.items()}, **self.behind_links}

    @cached_property
    def background_of(self) -> dict[str, Background]:
        """Background traffic beside devices, by name of the device."""
        return {
            name: group.background
            for group in self.devices
            if group.background is not None
            for name in group.names
        }

    @property
    def network_links(self) -> tuple[NetworkLink, ...]:
        """Links of the network; none without a network."""
        return self.network.links if self.network else ()

    @property
    def shared_queues(self) -> tuple[Bottleneck | NetworkLink, ...]:
        """Bottlenecks, and links of the network."""
        return (*self.bottlenecks, *self.network_links)

    @cached_property
    def shared_of(self) -> dict[str, SharedLink]:
        """Least rate and whole delay of the links that a device shares with others, by name of
        the device: its bottleneck and its route, but not the server's link."""
        behind = {name: each.shared for name, each in self.bottleneck_of.items()}
        for name, route in self.route_of.items():
            behind[name] = behind.get(name, SharedLink()).then(route.shared)
        return behind

    @cached_property
    def keepers(self) -> frozenset[str]:
        """Names of the devices that keep the state over some crashes."""
        return self.targets_of_faults.keepers()

    @cached_property
    def batteries(self) -> dict[str, dict[str, Any]]:
        """Batteries of devices, by name, in the form that `BatteryConstants.read` takes."""
        return self.targets_of_faults.batteries()

    @cached_property
    def targets_of_faults(self) -> FaultTargets:
        """Targets of the faults."""
        return FaultTargets(self.seed, self.devices, self.faults)
