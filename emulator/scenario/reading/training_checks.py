"""Checks of the training while a file is read: aggregation, cut, model, loss and measurements."""

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...aggregation import AnyAggregation, Krum, Mean, MultiKrum
from ...codecs import AnyCodec, uncuttable
from ...errors import counted
from ...learning.models import Model, OwnModel
from ...synchronization import (
    AnySynchronization,
    Asynchronous,
    Bounded,
    ComputeGroups,
    FedAvg,
    LocalSGD,
    Softsync,
)
from ...synchronization.barrier import Barrier
from ...synchronization.rounds import clients_per_round
from ...world.stop_conditions import CONDITIONS
from ..sections.cut_section import FullyConnected, cut_layer
from ..sections.training_section import AggregationField, CodecField, SynchronizationField
from .data_and_model_files import known_data, known_model
from .document import Document
from .plugin_files import plugin_kind, readable

_AGGREGATION_KEY = ("training", "aggregation")

_AGGREGATION: TypeAdapter[AnyAggregation] = TypeAdapter(AggregationField)
SYNCHRONIZATION: TypeAdapter[AnySynchronization] = TypeAdapter(SynchronizationField)


def check_aggregation(document: Document, devices: int | None) -> None:
    """Add to `document` the reasons against the chosen aggregation.

    `devices` is the number of devices, None if a mistake hides it. Values that cannot be read are
    ignored here: pydantic reports them.
    """
    training = document.at(("training",))
    if not isinstance(training, dict) or training.get("aggregation") is None:
        return
    chosen = readable(_AGGREGATION, training["aggregation"])
    written = training.get("synchronization")
    policy = Asynchronous() if written is None else readable(SYNCHRONIZATION, written)
    if chosen is None or policy is None or chosen == Mean():
        return
    if training.get("fully_connected") is not None:
        document.complain(
            _AGGREGATION_KEY,
            f"{chosen.kind!r} does not go with fully_connected: the server's layers learn from "
            "activations, whose lies no aggregation of gradients withstands: use mean",
        )
    if devices is None:
        return
    gradients = gradients_of_a_step(policy, devices)
    if gradients is None:
        return
    if gradients == 1 and not chosen.single:
        document.complain(
            _AGGREGATION_KEY,
            f"{chosen.kind!r} chooses among the gradients of a step, and with {policy.kind!r} "
            "and these devices a step has one: use barrier, softsync, groups or fedavg",
        )
    elif isinstance(chosen, Krum | MultiKrum) and gradients < chosen.least:
        most = max(0, (gradients - 3) // 2)
        remedy = f"write {most} or less" if most else "5 gradients withstand one"
        document.complain(
            (*_AGGREGATION_KEY, "liars"),
            f"to withstand {counted(chosen.liars, 'liar')}, a step needs {chosen.least} gradients "
            f"(2 · liars + 3), and here a step has {gradients}: {remedy}",
        )


def gradients_of_a_step(policy: AnySynchronization, devices: int) -> int | None:
    """Return the number of gradients of a step with all of the `devices` present.

    None: only the synchronization of a user knows.
    """
    match policy:
        case Asynchronous() | Bounded():
            return 1
        case Softsync():
            return max(1, devices // policy.splits)
        case ComputeGroups():
            return max(1, devices // policy.groups)
        case Barrier():
            return policy.needed(devices)
        case FedAvg() | LocalSGD():
            return clients_per_round(policy.clients, devices)
    return None


_CUT_KEY = ("training", "fully_connected")

_SECTION = TypeAdapter(FullyConnected)
CODEC: TypeAdapter[AnyCodec] = TypeAdapter(CodecField)


def check_cut(document: Document) -> None:
    """Add to `document` every reason why `fully_connected` cannot cut the model.

    Values that cannot be read are ignored here: pydantic reports them.
    """
    training = document.at(("training",))
    if not isinstance(training, dict) or training.get("fully_connected") is None:
        return
    if reason := _misplaced(document):
        document.complain((*_CUT_KEY, "place"), reason)
    for key, reason in _uncombinable(training):
        document.complain(("training", key), f"does not go with fully_connected: {reason}")


def _misplaced(document: Document) -> str:
    """Return the reason against a cut at the given place; empty if the model can be cut there."""
    model = document.at(("training", "model"))
    if isinstance(model, dict):
        return "the model is a layer table, which names no tensors that could cross: name a model"
    if (network := known_model(document)) is None:
        return ""
    try:
        section = _SECTION.validate_python({"place": document.at((*_CUT_KEY, "place"))})
    except ValidationError:
        return ""
    try:
        cut_layer(section.place, network)
    except ValueError as error:
        return str(error)
    return ""


def _uncombinable(training: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of `training` that do not go together with a cut model, with the reasons."""
    if training.get("schedule") is not None:
        yield (
            "schedule",
            "a device waits for the server in the middle of an iteration, and schedules plan "
            "iterations without such a wait: leave schedule out",
        )
    rounds = readable(SYNCHRONIZATION, training.get("synchronization"))
    if reason := _unfit(rounds):
        allowed = "use asynchronous, bounded, barrier or groups"
        yield "synchronization", f"{reason}: {allowed}"
    codec = readable(CODEC, training.get("codec"))
    if codec is not None and (reason := uncuttable(codec)):
        yield (
            "codec",
            f"{codec.kind!r} needs the gradient of all layers, and a device knows that of its own "
            f"layers: {reason}",
        )


def _unfit(synchronization: AnySynchronization | None) -> str:
    """Return the reason against cut models under `synchronization`; empty without a reason."""
    match synchronization:
        case FedAvg() | LocalSGD():
            return (
                f"in a round of {synchronization.kind!r} a device trains alone, and a cut model "
                "needs the server for every mini-batch"
            )
        case Softsync():
            return (
                "'softsync' makes a step of the next updates of any devices, and the server's "
                "layers make theirs earlier, with the activations, maybe of other devices"
            )
    return ""


_LOSS = ("training", "loss")


def check_own_model(document: Document) -> None:
    """Add to `document` the mistakes of a model of one's own, and those of a regression."""
    model, data = known_model(document), known_data(document)
    if model is None:
        return
    _check_loss(document, model)
    _check_parts(document, model)
    if data is not None and data.task.regression:
        _check_regression(document)


def _check_loss(document: Document, model: Model) -> None:
    loss = document.at(_LOSS)
    if not isinstance(loss, str):
        return
    if not isinstance(model, OwnModel) and loss != "crossentropy":
        document.complain(
            _LOSS,
            f"{model.name!r} is trained by crossentropy: leave loss out, or write a model of your "
            "own, as ./models.py:build",
        )


def _check_parts(document: Document, model: Model) -> None:
    """Check that the layers run apart from each other if the schedule wants that."""
    schedule: Any = document.at(("training", "schedule"))
    kind = schedule.get("kind") if isinstance(schedule, dict) else schedule
    if isinstance(model, OwnModel) and model.unstaged and kind not in (None, "sequential"):
        document.complain(
            ("training", "schedule"),
            f"the layers of {model.name!r} do not run apart from each other: {model.unstaged}: use "
            "sequential",
        )


def _check_regression(document: Document) -> None:
    for key, condition in CONDITIONS.items():
        if condition.regression and document.at(("stop", key)) is not None:
            document.complain(("stop", key), condition.regression)
    if document.at(("training", "fully_connected")) is not None:
        document.complain(
            ("training", "fully_connected"),
            "a cut model sends classes as labels, and the data has targets: leave it out",
        )


_LOCAL = ("fedavg", "local-sgd")
_SCALED = ("adam", "sign")


def check_measure(document: Document) -> None:
    """Add to `document` every reason why the run cannot show what it is to measure."""
    for measure, reasons in (("momentum", _no_momentum), ("compression", _no_compression)):
        if isinstance(document.at(("measure", measure)), dict):
            for key, reason in reasons(document):
                document.complain(key, f"does not go with measure.{measure}: {reason}")


_UNLEARNT = ("virtual", "learner"), "with 'none' there is no gradient: use numpy or tensorflow"


def _no_compression(document: Document) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys that leave no update whose layers can be measured, with the reasons."""
    schedule = ("training", "schedule")
    if plugin_kind(document.at(schedule)) not in (None, "sequential"):
        yield schedule, "an update travels in pieces, and those of whole updates are measured"
    if document.at(("training", "fully_connected")) is not None:
        yield ("training", "fully_connected"), "a cut model's updates lack the server's layers"
    if document.at(_UNLEARNT[0]) == "none":
        yield _UNLEARNT


def _no_momentum(document: Document) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys that leave no momentum to measure, with the reasons."""
    synchronization = ("training", "synchronization")
    if (kind := plugin_kind(document.at(synchronization))) in _LOCAL:
        yield (
            synchronization,
            f"{kind!r} averages models that devices trained alone, and momentum is that of steps "
            "along single gradients",
        )
    optimizer = ("training", "optimizer")
    if (kind := plugin_kind(document.at(optimizer))) in _SCALED:
        yield (
            optimizer,
            f"a step of {kind!r} is not proportional to its gradient: use sgd or momentum",
        )
    if document.at(("training", "fully_connected")) is not None:
        yield (
            ("training", "fully_connected"),
            "the server's part of a cut model takes steps of its own",
        )
    if document.at(("virtual", "learner")) == "none":
        yield _UNLEARNT
