"""A scenario: who trains what with whom, over which links, and what goes wrong meanwhile.

These classes are the file's format: their fields are its keys, their docstrings its
description in the JSON schema. Read a file with `load`, which also checks what takes more
than one key to see.
"""

import re
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ..codecs import AnyCodec
from ..datasets import DATASETS, Description
from ..datasets.split import AnySplit, Iid
from ..faults import FAULTS, Aimed, scheduled
from ..learners.local_training import LocalTraining
from ..models import MODELS
from ..modulation import AnyModulation, Constant
from ..optimizers import SGD, AnyOptimizer
from ..pulls import AnyPull, WholeModel
from ..synchronization import AnySynchronization, Asynchronous, local_training
from ..units import Fraction
from ..world.laws import Law
from ..world.link import Link
from .algorithms import ALGORITHMS, name_of
from .devices import Device, Group, Section, expand
from .fields import AnyLaw, Duration, Kinds, Name, NotEmpty, Profiled

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _examples(data: Description) -> str:
    return f"{data.sizes['train']:,} {data.task}, to learn from"


class TrainingSection(Section):
    """What is learnt, from what, and by which algorithm."""

    dataset: Annotated[str, Name({name: _examples(data) for name, data in DATASETS.items()})]
    """The images or texts to learn from."""
    model: Annotated[
        str, Name({name: f"{m.layout.size:,} parameters" for name, m in MODELS.items()})
    ]
    """The network to train."""
    split: Annotated[AnySplit, Kinds()] = Field(default_factory=Iid)
    """How the training set is dealt out to the devices."""
    batch_size: Annotated[int, Field(ge=1)] = 10
    """Examples in a mini-batch."""
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.1
    """The step at the server, before modulation."""
    optimizer: Annotated[AnyOptimizer, Kinds()] = Field(default_factory=SGD)
    """What the server makes of the mean gradient of a step."""
    codec: Annotated[AnyCodec, Kinds()]
    """How gradients are compressed; or give `algorithm`, which stands for it and the rest."""
    modulation: Annotated[AnyModulation, Kinds()] = Field(default_factory=Constant)
    """What the step of a stale gradient is divided by."""
    synchronization: Annotated[AnySynchronization, Kinds()] = Field(default_factory=Asynchronous)
    """Who waits for whom."""
    pull: Annotated[AnyPull, Kinds()] = Field(default_factory=WholeModel)
    """What of the model travels to a device."""
    error_feedback: bool = False
    """Whether a device adds what it did not send to its next gradient."""

    @property
    def algorithm(self) -> str | None:
        """The name of the algorithm that has exactly these parts, if one has."""
        return name_of(
            self.codec,
            self.modulation,
            self.synchronization,
            self.error_feedback,
            self.optimizer,
        )

    @property
    def described(self) -> str:
        """The algorithm's name, or its parts in a few words."""
        parts = (self.codec, self.modulation, self.synchronization)
        feedback = ["error feedback"] if self.error_feedback else []
        named = [self.algorithm] if self.algorithm else [*(part.kind for part in parts), *feedback]
        known = self.algorithm and ALGORITHMS[self.algorithm].optimizer == self.optimizer
        said = known or self.optimizer == SGD()
        return ", ".join([*named, *([] if said else [self.optimizer.kind])])

    @property
    def local(self) -> LocalTraining:
        """How far a device trains between a model and its update."""
        return local_training(self.synchronization, self.learning_rate)


class EvaluateSection(Section):
    """When the model is measured on the test set."""

    every: Annotated[int, Field(ge=1)] = 200
    """Updates between two measurements."""


class StopSection(Section):
    """When the run ends: at whichever comes first. At least one is needed."""

    updates: Annotated[int, Field(ge=1)] | None = None
    """After so many updates."""
    accuracy: Fraction | None = None
    """Once a measurement on the test set reaches it."""
    time: Duration | None = None
    """After so much time, counted from when every device has said hello."""

    @model_validator(mode="after")
    def _some(self) -> "StopSection":
        if self.updates is None and self.accuracy is None and self.time is None:
            raise ValueError("is empty: say when, by updates, accuracy or time")
        return self


class Checkpoint(Section):
    """How often the server saves its model, so that it is not lost in a crash."""

    every: Duration
    """Time between two checkpoints."""


class ServerSection(Section):
    """The parameter server."""

    link: Annotated[Link, Profiled("a link preset")] = Field(default_factory=Link)
    """Its access link, shared by all devices."""
    checkpoint: Checkpoint | None = None
    """Without it, none are made."""
    encrypt: bool = False
    """Whether traffic is encrypted (CURVE); it costs some 3 ms of a core for each exchange."""


class Virtual(Section):
    """What virtual time assumes where containers would show; containers need none of it."""

    learner: Literal["tensorflow", "numpy", "none"] = "tensorflow"
    """Who finds the gradients: TensorFlow; NumPy, for perceptrons; or nobody, so that only traffic
    is played, of the sizes to be expected from the codec."""
    step: AnyLaw | None = None
    """Time from a model to its update on a whole core; without it, as calibrated on this host."""
    boot: AnyLaw | None = None
    """Time that a worker takes to start on a whole core; without it, as calibrated on this host."""
    serve: AnyLaw | None = None
    """Time that an update takes the server, which has one core, until it answers again; without it,
    as calibrated on this host, or none at all where `step` is given."""
    tcp: bool = True
    """Whether links behave as TCP does: slow start, loss, back-off after a cut; or ideally."""

    @property
    def open(self) -> bool:
        """Whether something must be calibrated."""
        return self.step is None or self.boot is None

    def filled(self, *, step: Law, boot: Law, serve: Law) -> Self:
        """With these laws in place of those that it leaves open."""
        serves = serve if self.step is None else None  # a given step is perhaps of no host at all
        laws = {"step": self.step or step, "boot": self.boot or boot, "serve": self.serve or serves}
        return self.model_copy(update=laws)


AnyAimed = Annotated[
    Aimed, Kinds([scheduled(Aimed, fault) for fault in FAULTS.values()], bare=False)
]


def _ascending(targets: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    if not all(targets):
        raise ValueError("0%: a target is above zero, as every model reaches that")
    return tuple(sorted(set(targets)))


def _folder_name(name: str) -> str:
    if not _FOLDER.fullmatch(name):
        raise ValueError(
            f"{name!r} must serve as a folder's name: up to 64 letters, digits, '.', '_' and '-', "
            "a letter or digit first"
        )
    return name


class Scenario(Section):
    """An experiment: a world of devices, and a model that they train together."""

    name: Annotated[str, AfterValidator(_folder_name)]
    """What its runs are filed under."""
    seed: int = 0
    """All randomness comes from it: the same seed makes the same world."""
    training: TrainingSection
    """What is learnt, and how."""
    evaluate: EvaluateSection = Field(default_factory=EvaluateSection)
    """When the model is measured."""
    stop: StopSection
    """When the run ends."""
    targets: Annotated[
        tuple[Fraction, ...], NotEmpty("name at least one accuracy"), AfterValidator(_ascending)
    ] = Field(default_factory=lambda: (Fraction(0.9), Fraction(0.95), Fraction(0.97)))
    """Test accuracies for which the summary and the tables tell what it took to reach them."""
    server: ServerSection = Field(default_factory=ServerSection)
    """The parameter server."""
    virtual: Virtual = Field(default_factory=Virtual)
    """What virtual time assumes."""
    devices: Annotated[tuple[Group, ...], NotEmpty("name at least one device")]
    """Who trains: one entry for each device or group of devices alike."""
    faults: tuple[AnyAimed, ...] = ()
    """What strikes whom and when, beside the devices' own failures."""

    @cached_property
    def nodes(self) -> tuple[Device, ...]:
        """The devices, one by one, in the file's order."""
        return tuple(device for group in self.devices for device in expand(group))
