"""Checks of the server's shards while a file is read: the parts of a scenario that shards split."""

from collections.abc import Iterator

from ...codecs import uncuttable
from ...errors import counted
from .data_and_model_files import known_model
from .document import Document
from .plugin_files import plugin_kind, readable
from .training_checks import CODEC

_SHARDS = ("server", "shards")


def check_shards(document: Document) -> None:
    """Add to `document` every reason why `server.shards` cannot cut the server.

    Values that cannot be read are ignored here: pydantic reports them.
    """
    shards = document.at(_SHARDS)
    if not isinstance(shards, int) or isinstance(shards, bool) or shards < 2:
        return
    layers = _layers(document)
    if layers is not None and shards > layers:
        document.complain(
            _SHARDS,
            f"{shards} shards need a layer each, and the model has {counted(layers, 'layer')}: "
            f"write {layers} or less",
        )
    for key, reason in _uncombinable(document):
        document.complain(_SHARDS, f"does not go with {key}: {reason}")


def _layers(document: Document) -> int | None:
    """Return the number of the model's layers with parameters; None if a mistake hides it."""
    table = document.at(("training", "model", "layers"))
    if isinstance(table, list):
        return len(table)
    network = known_model(document)
    return None if network is None else len(network.layout.layers)


def _uncombinable(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the keys that do not go together with shards, with the reasons."""
    codec = readable(CODEC, document.at(("training", "codec")))
    if codec is not None and (reason := uncuttable(codec)):
        yield (
            f"the codec {codec.kind!r}",
            f"every shard takes its part of an update, and the codec cannot encode parts: {reason}",
        )
    if plugin_kind(document.at(("training", "schedule"))) not in (None, "sequential"):
        yield (
            "training.schedule",
            "a schedule cuts a model by its own times, and shards cut it where their servers "
            "meet: leave one of the two out",
        )
    if document.at(("training", "fully_connected")) is not None:
        yield (
            "training.fully_connected",
            "the server's layers are computed in one place: leave one of the two out",
        )
    if isinstance(document.at(("measure", "compression")), dict):
        yield (
            "measure.compression",
            "an update travels in parts, and those of whole updates are measured: leave it out",
        )
    for key, shared in (("bottlenecks", "a bottleneck"), ("network", "a network's links")):
        if document.at((key,)):
            yield (
                key,
                f"messages share the rate of {shared} before a single link of the server, and "
                "shards have several: leave one of the two out",
            )
