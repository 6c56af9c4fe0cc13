"""Checks of `measure.momentum`: whether the steps of the training are steps along gradients."""

from collections.abc import Iterator

from .document import Document
from .plugin_files import plugin_kind

_LOCAL = ("fedavg", "local-sgd")
_SCALED = ("adam", "sign")


def check_measure(document: Document) -> None:
    """Add to `document` every reason why the run's steps cannot show momentum."""
    measured = document.at(("measure", "momentum"))
    if not isinstance(measured, dict):
        return
    for key, reason in _reasons(document):
        document.complain(key, f"does not go with measure.momentum: {reason}")


def _reasons(document: Document) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys that leave nothing to measure, with the reasons."""
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
        yield ("virtual", "learner"), "with 'none' there is no gradient: use numpy or tensorflow"
