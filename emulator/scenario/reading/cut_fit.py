"""Checks of `training.fully_connected`: whether the rest of the training allows a cut model."""

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...codecs import AnyCodec, uncuttable
from ...synchronization import AnySynchronization, FedAvg, LocalSGD, Softsync
from ..sections.fully_connected import FullyConnected, cut_layer
from ..sections.training_section import CodecField, SynchronizationField
from .document import Document
from .own_model_file import known_model
from .plugin_files import readable

KEY = ("training", "fully_connected")

_SECTION = TypeAdapter(FullyConnected)
_SYNCHRONIZATION: TypeAdapter[AnySynchronization] = TypeAdapter(SynchronizationField)
_CODEC: TypeAdapter[AnyCodec] = TypeAdapter(CodecField)


def check_cut(document: Document) -> None:
    """Add to `document` every reason why `fully_connected` cannot cut the model.

    Values that cannot be read are ignored here: pydantic reports them.
    """
    training = document.at(("training",))
    if not isinstance(training, dict) or training.get("fully_connected") is None:
        return
    if reason := _misplaced(document):
        document.complain((*KEY, "place"), reason)
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
        section = _SECTION.validate_python({"place": document.at((*KEY, "place"))})
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
    rounds = readable(_SYNCHRONIZATION, training.get("synchronization"))
    if reason := _unfit(rounds):
        allowed = "use asynchronous, bounded, barrier or groups"
        yield "synchronization", f"{reason}: {allowed}"
    codec = readable(_CODEC, training.get("codec"))
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
