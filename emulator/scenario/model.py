"""The scenario file's format: training, devices, links and faults of an experiment.

Each class is a mapping of the file and each field a key; the docstrings are the descriptions in
the JSON schema. Read a file with `load`: it also makes the checks that need more than one key.
"""

import re
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ..aggregation import AnyAggregation, Mean
from ..codecs import AnyCodec
from ..core.plan import Cut
from ..datasets import DATASETS, Description
from ..datasets.split import AnySplit, Iid
from ..errors import ScenarioError
from ..faults import FAULTS, Aimed, scheduled
from ..layout import Layout
from ..learners.local_training import LocalTraining
from ..models import MODELS
from ..models.layer_table import LayerTable
from ..modulation import AnyModulation, Constant
from ..optimizers import SGD, AnyOptimizer
from ..pulls import AnyPull, WholeModel
from ..schedules import AnySchedule, Sequential
from ..synchronization import AnySynchronization, Asynchronous, local_training
from ..units import Fraction
from ..world.laws import Law
from ..world.link import Link
from .algorithms import ALGORITHMS, name_of
from .dealt_steps import BatchTime, DealtStep
from .devices import Device, Group, Section, expand
from .durability import AnyDurability
from .fault_fields import NODES, TIMES
from .fault_targets import FaultTargets
from .fields import (
    AnyLaw,
    Duration,
    Kinds,
    Name,
    NamedOr,
    NotEmpty,
    Profiled,
    read_types,
)
from .fully_connected import FullyConnected, cut_of, layer_names
from .layer_shares import LayerShares
from .measure import MeasureSection
from .quarantine_section import QuarantineSection

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _examples(data: Description) -> str:
    return f"{data.sizes['train']:,} training examples: {data.task}"


class TrainingSection(Section):
    """Training: the data set, the model, and the algorithm with its parts."""

    dataset: Annotated[str, Name({name: _examples(data) for name, data in DATASETS.items()})]
    """Data set to learn from: images or texts."""
    model: Annotated[
        str | LayerTable,
        NamedOr(
            {name: f"{m.layout.size:,} parameters" for name, m in MODELS.items()},
            "layers",
            "layer table",
        ),
    ]
    """Neural network to train, whose input must fit the data set; or `{layers: vgg-19}`, a layer
    table of a network too large to train, for planning and for `virtual.learner: none`."""
    split: Annotated[AnySplit, Kinds()] = Field(default_factory=Iid)
    """Data split: the way in which the training set is divided among the devices."""
    batch_size: Annotated[int, Field(ge=1)] = 10
    """Number of examples in a mini-batch."""
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.1
    """Learning rate of the server's steps, before modulation divides it."""
    optimizer: Annotated[AnyOptimizer, Kinds()] = Field(default_factory=SGD)
    """Optimizer of the server: the rule by which a mean gradient changes the model."""
    codec: Annotated[AnyCodec, Kinds()]
    """Codec that compresses the gradients. Give either `codec` or `algorithm`, which stands for a
    codec, a modulation, a synchronization and error feedback."""
    modulation: Annotated[AnyModulation, Kinds()] = Field(default_factory=Constant)
    """Modulation of stale gradients: the number by which the server divides their step."""
    synchronization: Annotated[AnySynchronization, Kinds()] = Field(default_factory=Asynchronous)
    """Synchronization of the devices: the rule by which a device waits for the others."""
    aggregation: Annotated[AnyAggregation, Kinds()] = Field(default_factory=Mean)
    """Aggregation of the gradients of a step: their mean, or a rule that withstands devices which
    lie. It concerns steps of several gradients, as under `barrier`."""
    pull: Annotated[AnyPull, Kinds()] = Field(default_factory=WholeModel)
    """Pull coding: the whole model, or only the parameters that changed, for each pull."""
    schedule: Annotated[AnySchedule, Kinds()] | None = None
    """Schedule of pulls and pushes: the whole model and the whole update in one message each
    (`sequential`), or in segments of layers, so that transfer overlaps computing. A step over
    several updates adds them up in the order of the devices' names; without `schedule`, models and
    updates travel whole too, and a step adds updates up in the order of arrival."""
    initial: str | None = None
    """Model to begin with: the path, from the scenario's folder, of the `model.npz` of a run with
    the same model. Its state of the same kind of optimizer is used too. Without `initial` the
    weights are drawn from the seed."""
    fully_connected: FullyConnected | None = None
    """Fully connected layers that the server holds and trains (`place: server`), or a cut of the
    model behind any layer, as in split learning (`place: {after: LAYER}`). Without
    `fully_connected` each device computes the whole model."""
    error_feedback: bool = False
    """Error feedback: with `true`, a device adds the entries that the codec did not send to its
    next gradient."""

    @property
    def model_name(self) -> str:
        """Name of the model or of the layer table."""
        return self.model if isinstance(self.model, str) else self.model.name

    @property
    def layout(self) -> Layout:
        """Layout of the model's parameters."""
        return MODELS[self.model].layout if isinstance(self.model, str) else self.model.layout

    @property
    def trainable(self) -> str:
        """Name of the model, which can be trained. Raises ScenarioError for a layer table."""
        if isinstance(self.model, str):
            return self.model
        raise ScenarioError(
            f"training.model: {self.model_name!r} is a layer table, which cannot be trained: only "
            "virtual.learner: none plays it, with --on virtual and a virtual.step"
        )

    @property
    def algorithm(self) -> str | None:
        """Name of the paper's algorithm with exactly the section's parts, or None."""
        return name_of(
            self.codec,
            self.modulation,
            self.synchronization,
            self.error_feedback,
            self.optimizer,
        )

    @property
    def described(self) -> str:
        """The algorithm or the kinds of its parts, then an unusual optimizer and schedule."""
        parts = (self.codec, self.modulation, self.synchronization)
        feedback = ["error feedback"] if self.error_feedback else []
        words = [self.algorithm] if self.algorithm else [*(part.kind for part in parts), *feedback]
        implied = self.algorithm and ALGORITHMS[self.algorithm].optimizer == self.optimizer
        if not implied and self.optimizer != SGD():
            words.append(self.optimizer.kind)
        if self.aggregation != Mean():
            words.append(self.aggregation.kind)
        if self.cutting != Sequential():
            words.append(self.cutting.kind)
        if self.cut:
            words.append(f"cut behind {layer_names(self.layout)[self.cut.layer - 1]}")
        return ", ".join(words)

    @cached_property
    def cut(self) -> Cut | None:
        """The cut between the devices' and the server's part of the model; None without one."""
        return cut_of(self.fully_connected, self.model)

    @property
    def device_layout(self) -> Layout:
        """Layout of the parameters that devices pull and push: of their part of the model."""
        return self.layout.part((1, self.cut.layer)) if self.cut else self.layout

    @property
    def cutting(self) -> AnySchedule:
        """The schedule that cuts pulls and pushes, which is `sequential` by default."""
        return self.schedule or Sequential()

    @property
    def local(self) -> LocalTraining:
        """Local training of a device between a pull and its push."""
        return local_training(self.synchronization, self.learning_rate)


class EvaluateSection(Section):
    """Measurements of the model's accuracy and loss on the test set."""

    every: Annotated[int, Field(ge=1)] = 200
    """Number of updates between two measurements."""


class StopSection(Section):
    """Stop conditions: the first condition to be met ends the run. At least one is required."""

    updates: Annotated[int, Field(ge=1)] | None = None
    """Stop after this number of updates, for example `3000`."""
    accuracy: Fraction | None = None
    """Stop when the test accuracy reaches this share, for example `97%`."""
    time: Duration | None = None
    """Stop after this time, for example `10min`. The time starts when every device and the
    evaluator have said hello to the server."""

    @model_validator(mode="after")
    def _some(self) -> "StopSection":
        if self.updates is None and self.accuracy is None and self.time is None:
            raise ValueError("is empty: give updates, accuracy or time")
        return self


class Checkpoint(Section):
    """Checkpoints: copies of the model on disk, so that the model survives a server crash."""

    every: Duration
    """Time between two checkpoints, for example `30s`."""


class ServerSection(Section):
    """Parameter server: link, checkpoints, quarantine and encryption."""

    link: Annotated[Link, Profiled("link preset")] = Field(default_factory=Link)
    """Access link of the server; the traffic of all devices shares it. Without `link` the server's
    traffic is unshaped."""
    checkpoint: Checkpoint | None = None
    """Checkpoints of the model on disk. Without `checkpoint` the server saves none during the
    run."""
    durability: AnyDurability = "none"
    """Durability of the server: with `update` a server whose process was killed goes on with every
    update, with `{every: 30s}` from its last saved state; with `none` the run ends. A checkpoint
    holds the model alone, for people; durability holds all that the server needs to go on."""
    quarantine: QuarantineSection | None = None
    """Quarantine of devices whose messages are refused again and again. Without `quarantine` every
    message is looked at."""
    encrypt: bool = False
    """Encryption: with `true`, ZeroMQ's CURVE encrypts all traffic, which costs about 3 ms of a
    core for each exchange of a push and a pull."""


class Virtual(Section):
    """Assumptions of virtual time: computing times, and the model of TCP. Containers measure
    real times instead and ignore this section."""

    learner: Literal["tensorflow", "numpy", "none"] = "tensorflow"
    """Learner that computes the gradients in virtual time: `tensorflow` for every model, `numpy`
    for perceptrons, `none` to play only traffic, with the message sizes that the codec is
    expected to make."""
    step: AnyLaw | None = None
    """Computing time from a model to its update, on a whole core of the host. Without `step` the
    time comes from the calibration of this host. With `groups` it is the time of the whole
    `batch_size`, and a device takes its share of it."""
    dealt: tuple[DealtStep, ...] | None = None
    """Computing times of devices of compute groups, for mini-batches of other sizes than their
    share of `step`. A run without `step` writes its measured times here."""
    boot: AnyLaw | None = None
    """Start-up time of a worker, on a whole core of the host. Without `boot` the time comes from
    the calibration of this host."""
    serve: AnyLaw | None = None
    """Time for which an update occupies the server, which has one core. Without `serve` the time
    comes from the calibration of this host, or is zero if `step` is given."""
    dense: AnyLaw | None = None
    """Time for which a pass through the layers that the server holds
    (`training.fully_connected`) occupies the server, for the whole `batch_size`. Without `dense`
    the time comes from the calibration of this host."""
    layers: LayerShares | None = None
    """Shares of `step` that each layer takes, which matter to schedules that cut a model into
    segments, and to a cut model (`training.fully_connected`). Without `layers` the shares come from
    the calibration of this host."""
    tcp: bool = True
    """TCP on the links of virtual time: with `true`, slow start, loss and back-off after a cut;
    with `false`, ideal links."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.dealt and self.step is None:
            raise ValueError("dealt stands beside a step: give step too")
        return self

    def time_of(self, examples: int, batch_size: int) -> BatchTime:
        """Return the time of a mini-batch of `examples`, dealt out of `batch_size`.

        Raises TypeError if `step` is open.
        """
        if self.step is None:
            raise TypeError("virtual.step must be known")
        measured = [dealt.step for dealt in self.dealt or () if dealt.examples == examples]
        return BatchTime(measured[-1]) if measured else BatchTime(self.step, examples / batch_size)

    @property
    def open(self) -> bool:
        """Whether the scenario leaves a time to calibration."""
        return self.step is None or self.boot is None

    def filled(self, *, step: Law, boot: Law, serve: Law) -> Self:
        """Return a copy with the calibrated `step`, `boot` and `serve` in place of missing ones."""
        # a step given in the file may be of another host: a server time measured on this one would
        # not fit
        serves = serve if self.step is None else None
        laws = {"step": self.step or step, "boot": self.boot or boot, "serve": self.serve or serves}
        return self.model_copy(update=laws)


AnyAimed = Annotated[
    Aimed,
    Kinds(
        [scheduled(Aimed, fault, TIMES | NODES | read_types(fault)) for fault in FAULTS.values()],
        bare=False,
    ),
]


def _ascending(targets: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    if not all(targets):
        raise ValueError("0%: a target must be above zero, as every model reaches zero")
    return tuple(sorted(set(targets)))


def _folder_name(name: str) -> str:
    if not _FOLDER.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name for a folder: write up to 64 letters, digits, '.', '_' and '-', "
            "a letter or digit first"
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
    training: TrainingSection
    """Training: the data set, the model, and the algorithm with its parts."""
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
    virtual: Virtual = Field(default_factory=Virtual)
    """Assumptions of virtual time: computing times, and the model of TCP."""
    devices: Annotated[tuple[Group, ...], NotEmpty("name at least one device")]
    """Devices that train: one entry for each device or group of equal devices."""
    faults: tuple[AnyAimed, ...] = ()
    """Faults aimed at named devices, in addition to the devices' own failure profiles: at given
    times, again and again, or drawn in each iteration."""

    @cached_property
    def nodes(self) -> tuple[Device, ...]:
        """Devices of all groups, in the file's order."""
        hazards = self.targets_of_faults.hazards()
        devices = (device for group in self.devices for device in expand(group))
        return tuple(
            replace(device, hazards=hazards[device.name]) if device.name in hazards else device
            for device in devices
        )

    @cached_property
    def keepers(self) -> frozenset[str]:
        """Names of the devices that keep their state over some crashes."""
        return self.targets_of_faults.keepers()

    @cached_property
    def batteries(self) -> dict[str, dict[str, Any]]:
        """Batteries of the devices that have one, by name, for `BatteryConstants.read`."""
        return self.targets_of_faults.batteries()

    @cached_property
    def targets_of_faults(self) -> FaultTargets:
        """Targets of each fault."""
        return FaultTargets(self.seed, self.devices, self.faults)
