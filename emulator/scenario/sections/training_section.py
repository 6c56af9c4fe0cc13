"""The scenario's section `training`: the data set, the model and the algorithm."""

from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field
from pydantic_core import core_schema

from ... import aggregation, codecs, modulation, optimizers, plugins, schedules, synchronization
from ...aggregation import Mean
from ...core.plan import Cut, device_layers
from ...errors import ScenarioError
from ...layout import Layout
from ...learning.datasets import DATASETS, Description, OwnDataset, describe
from ...learning.datasets.split import AnySplit, Iid
from ...learning.learners.export import own_model
from ...learning.learners.local_training import LocalTraining
from ...learning.models import MODELS, Model, saved_model
from ...learning.models.layer_table import LayerTable
from ...learning.models.own_model import LOSSES, ModelSource, OwnModel, source
from ...learning.models.saved_model import SavedModel
from ...modulation import Constant
from ...optimizers import SGD
from ...plugins.python_file import NAME
from ...pulls import AnyPull, WholeModel
from ...schedules import AnySchedule, Sequential
from ...synchronization import Asynchronous, local_training
from ..algorithms import ALGORITHMS, name_of
from .cut_section import FullyConnected, layer_names
from .devices import Section
from .fields import Kinds, Name, NamedOr, NameOrReference

_NAME, _OWN = "a name", "data of one's own"
_REMEDY = ", nor a path, as ./data.npz, ./table.csv, ./images/ or ./file.py:function"
_PATH = rf"/|\.(npz|csv|parquet)$|{NAME}"
"""Regular expression of a path, as opposed to a name."""


class NameOrData:
    """Reads one of the names in `known`, a table of names and descriptions, or an OwnDataset.

    The path alone stands for a mapping with the key `file`: `reading/data_and_model_files.py`
    puts the mapping in the path's place, so the reader does not see the path alone.
    """

    def __init__(self, known: dict[str, str]) -> None:
        self._name = Name(known, _REMEDY)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        name = self._name.__get_pydantic_core_schema__(str, handler)
        choices = {_NAME: name, _OWN: handler.generate_schema(OwnDataset)}
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        names = self._name.__get_pydantic_json_schema__(None, None)
        about = (
            "Path of data of one's own, from the scenario's folder, or in an option from the "
            "working directory."
        )
        path = {"type": "string", "pattern": _PATH, "description": about}
        return {"anyOf": [names, path, handler(schema["choices"][_OWN])]}

    def _tag(self, value: Any) -> str:
        return _OWN if isinstance(value, dict) or is_dataclass(value) else _NAME


CodecField: TypeAlias = Annotated[codecs.AnyCodec, Kinds(family=codecs.FAMILY)]
ModulationField: TypeAlias = Annotated[modulation.AnyModulation, Kinds(family=modulation.FAMILY)]
SynchronizationField: TypeAlias = Annotated[
    synchronization.AnySynchronization, Kinds(family=synchronization.FAMILY)
]
OptimizerField: TypeAlias = Annotated[optimizers.AnyOptimizer, Kinds(family=optimizers.FAMILY)]
AggregationField: TypeAlias = Annotated[
    aggregation.AnyAggregation, Kinds(family=aggregation.FAMILY)
]
ScheduleField: TypeAlias = Annotated[schedules.AnySchedule, Kinds(family=schedules.FAMILY)]


_LOSS = "A function of a Python file that maps labels and outputs to losses."


def _examples(data: Description) -> str:
    return f"{data.sizes['train']:,} training examples: {data.task}"


class TrainingSection(Section):
    """Training: the data set, the model, and the algorithm with its parts."""

    dataset: Annotated[
        str | OwnDataset, NameOrData({name: _examples(data) for name, data in DATASETS.items()})
    ]
    """Data set to learn from: images or texts; or the path of data of one's own, alone or in a
    mapping that says how to understand it."""
    model: Annotated[
        str | LayerTable,
        NamedOr(
            {name: f"{m.layout.size:,} parameters" for name, m in MODELS.items()},
            "layers",
            "layer table",
        ),
    ]
    """Neural network to train, whose input must fit the data set; or `./models.py:build`, a
    function in a Python file that returns a `tf.keras.Model`; or `{layers: vgg-19}`, a layer table
    of a network too large to train, for planning and for `virtual.learner: none`."""
    loss: Annotated[str, NameOrReference(LOSSES, _LOSS)] | None = None
    """Loss of a model of your own: `crossentropy` for classes, `mse` for a regression, or
    `./losses.py:function` with the arguments `y_true` and `y_pred`. Without `loss` the task
    decides."""
    split: Annotated[AnySplit, Kinds()] = Field(default_factory=Iid)
    """Data split: the way in which the training set is divided among the devices."""
    batch_size: Annotated[int, Field(ge=1)] = 10
    """Number of examples in a mini-batch."""
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.1
    """Learning rate of the server's steps, before modulation divides it."""
    optimizer: OptimizerField = Field(default_factory=SGD)
    """Optimizer of the server: the rule by which a mean gradient changes the model."""
    codec: CodecField
    """Codec that compresses the gradients. Give either `codec` or `algorithm`, which stands for a
    codec, a modulation, a synchronization and error feedback."""
    modulation: ModulationField = Field(default_factory=Constant)
    """Modulation of stale gradients: the number by which the server divides their step."""
    synchronization: SynchronizationField = Field(default_factory=Asynchronous)
    """Synchronization of the devices: the rule by which a device waits for the others."""
    aggregation: AggregationField = Field(default_factory=Mean)
    """Aggregation of the gradients of a step: their mean, or a rule that withstands devices which
    lie. It concerns steps of several gradients, as under `barrier`."""
    pull: Annotated[AnyPull, Kinds()] = Field(default_factory=WholeModel)
    """Pull coding: the whole model, or only the parameters that changed, for each pull."""
    schedule: ScheduleField | None = None
    """Schedule of pulls and pushes: the whole model and the whole update in one message each
    (`sequential`), or in segments of layers, so that transfer overlaps computing. A step over
    several updates adds them up in the order of the devices' names; without `schedule`, models and
    updates travel whole too, and a step adds updates up in the order of arrival."""
    initial: str | None = None
    """Model to begin with: the path, from the scenario's folder, or in an option from the working
    directory, of the `model.npz` of a run with the same model. Its state of the same kind of
    optimizer is used too. Without `initial` the weights are drawn from the seed."""
    fully_connected: FullyConnected | None = None
    """Fully connected layers that the server holds and trains (`place: server`), or a cut of the
    model behind any layer, as in split learning (`place: {after: LAYER}`). Without
    `fully_connected` each device computes the whole model."""
    error_feedback: bool = False
    """Error feedback: with `true`, a device adds the entries that the codec did not send to its
    next gradient."""

    @property
    def data(self) -> Description:
        """Description of the data set. Raises DataError if the cache lacks data of one's own."""
        return describe(self.dataset)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The plugins that containers make: in the server or in the devices."""
        return (
            *(self.codec, self.modulation, self.synchronization),
            *(self.optimizer, self.aggregation, self.schedule),
        )

    @property
    def model_name(self) -> str:
        """Name of the model or of the layer table; of an own model, with a digest of its source."""
        return self.network.name if isinstance(self.model, str) else self.model.name

    @property
    def model_title(self) -> str:
        """Name of the model for people; of an own model, its file and function."""
        model = self.network if isinstance(self.model, str) else None
        return model.title if isinstance(model, OwnModel) else self.model_name

    @property
    def layout(self) -> Layout:
        """Layout of the model's parameters."""
        return self.network.layout if isinstance(self.model, str) else self.model.layout

    @property
    def trainable(self) -> str:
        """Name of the model, which can be trained. Raises ScenarioError for a layer table."""
        return self.network.name

    @cached_property
    def network(self) -> Model:
        """The model, which can be trained. Raises ScenarioError for a layer table."""
        if isinstance(self.model, str):
            return MODELS.get(self.model) or own_model(self._source(self.model))
        raise ScenarioError(
            f"training.model: {self.model.name!r} is a layer table, which cannot be trained: only "
            "virtual.learner: none plays it, with --on virtual and a virtual.step"
        )

    def _source(self, reference: str) -> ModelSource:
        return source(reference, self.loss, self.data.task.regression)

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
        """The cut between the devices' and the server's part of the model; None without a cut."""
        section = self.fully_connected
        return section.cut(self.network) if section and isinstance(self.model, str) else None

    @property
    def device_layout(self) -> Layout:
        """Layout of the parameters that devices pull and push: of their part of the model."""
        return self.layout.part(device_layers(self.cut, self.layout))

    @property
    def cutting(self) -> AnySchedule:
        """The schedule that cuts pulls and pushes; `sequential` by default."""
        return self.schedule or Sequential()

    @property
    def local(self) -> LocalTraining:
        """Local training of a device between a pull and its push."""
        return local_training(self.synchronization, self.learning_rate)


def initial_model(training: TrainingSection) -> SavedModel | None:
    """Read the initial model of `training`; None if the weights are drawn from the seed.

    Raises ScenarioError if the file is no such model, or the state in it is damaged.
    """
    if training.initial is None:
        return None
    try:
        model = saved_model.read(Path(training.initial), training.layout)
        if model.optimizer is not None and model.optimizer.kind == training.optimizer.kind:
            descent = optimizers.make(plugins.plain(training.optimizer))
            descent.start(training.layout.size, training.learning_rate).restore(
                model.optimizer.arrays
            )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ScenarioError(f"training.initial: {training.initial}: {why}") from error
    return model


def begins_without_state(training: TrainingSection) -> bool:
    """Return whether the optimizer begins at zero although the model to begin with was trained.

    It does if it has a state, and the file holds none of its kind.
    """
    model = initial_model(training)
    if model is None or (model.optimizer and model.optimizer.kind == training.optimizer.kind):
        return False
    own = optimizers.make(plugins.plain(training.optimizer)).start(1, training.learning_rate)
    return bool(own.state() or (model.optimizer and model.optimizer.arrays))
