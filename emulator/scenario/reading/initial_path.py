"""Finds the file of `training.initial`, and checks that the file holds the scenario's model."""

from pathlib import Path

from ...learning.models import saved_model
from .document import Document
from .own_model_file import known_model

_ADDRESS = ("training", "initial")


def find_initial(document: Document, folder: Path) -> None:
    """Replace the path in `training.initial`, from `folder` on, by the file's absolute path.

    Adds a mistake to `document` if the file is no saved model of the scenario's layout.
    """
    given, name = document.at(_ADDRESS), document.at(("training", "model"))
    # absent, or refused by its type or as no text of a path
    if not isinstance(given, str) or document.has_mistake(_ADDRESS):
        return
    if not isinstance(name, str):
        document.complain(_ADDRESS, "a layer table is not trained, so it begins with no model")
        return
    # `latest` in a path is a link that moves: the run's own scenario names the file itself
    file = (document.folder(_ADDRESS, given, folder) / given).resolve()
    document.data["training"]["initial"] = str(file)
    if (network := known_model(document)) is None:
        return
    try:
        saved_model.read(file, network.layout)
    except OSError as error:
        document.complain(
            _ADDRESS,
            f"{file} cannot be read: {error.strerror}: write the path of a run's model.npz, from "
            "the folder of this file",
        )
    except ValueError as error:
        document.complain(_ADDRESS, f"{file} does not hold a {name!r}: {error}")
