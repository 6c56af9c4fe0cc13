"""Checks of a workload: its files, the keys beside it, and the faults that it cannot have.

A scenario has either a training or a workload. The programs of a workload are not seen from inside,
so keys and faults that concern the inside of a training are refused, each with the reason.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...errors import suggestion
from ...world import verbs
from ...world.roles import SERVER
from ...world.stop_conditions import CONDITIONS, OF_WORKLOAD
from ..model import Scenario
from ..sections.workload_section import DRIVER, WORDS
from .document import Address, Document, place

WORKLOAD, TRAINING = ("workload",), ("training",)

INSIDE = {
    ("evaluate",): "no model is evaluated: the programs print their own metrics",
    ("measure",): "it measures the inside of a training",
    ("virtual",): "virtual time plays no programs: a workload is played in containers alone",
    ("time",): "the programs go by the host's clock, so their world cannot be slower",
    ("server", "checkpoint"): "the server's program keeps its own files: name them in output",
    ("server", "durability"): "the server's program keeps its own state",
    ("server", "quarantine"): "messages of the programs are not looked into",
    ("server", "shards"): "the server has one program",
    ("server", "encrypt"): "messages of the programs are not looked into",
    ("server", "relay"): "messages of the programs are not looked into",
}
"""Reasons against keys beside a workload."""

_UNSEEN = (
    "the programs of a workload are not seen from inside: stop by driver, time or metric, as "
    "{metric: {accuracy: 97%}}"
)
_UNKNOWN = "is of a workload, and this scenario trains: stop by updates, accuracy, loss or time"

_BRACED = re.compile(r"(?<![$\w{])\{([a-z_]+)\}(?!\})")
"""A word in braces that is neither a shell's variable nor an f-string's escape."""


def has_workload(document: Document) -> bool:
    """Return whether `document` has a workload, sound or not."""
    return document.at(WORKLOAD) is not None


def find_workload_files(document: Document, folder: Path) -> None:
    """Replace the paths of the workload, which count from `folder`, by absolute ones.

    Adds a mistake to `document` for each path that names nothing.
    """
    for address in list(_paths(document)):
        given = document.at(address)
        if not isinstance(given, str) or document.has_mistake(address):
            continue
        found = (document.folder(address, given, folder) / given).resolve()
        document.at(address[:-1])[address[-1]] = str(found)
        if not found.exists():
            document.complain(address, f"there is no {found}")
        elif not (found.is_file() or found.is_dir()):  # as the socket of the engine, which is power
            document.complain(
                address, f"{found} is a pipe, socket or device: name a file or folder"
            )
        elif address[-1] == "build" and not (found / "Dockerfile").is_file():
            document.complain(address, f"{found} has no Dockerfile: name the folder with one")


def _paths(document: Document) -> Iterator[Address]:
    """Yield the addresses of the paths in the workload."""
    for key in ("build", "data"):
        if document.at((*WORKLOAD, key)) is not None:
            yield (*WORKLOAD, key)
    for program in _PROGRAMS:
        mounts = document.at((*WORKLOAD, program, "mounts"))
        for inside in mounts if isinstance(mounts, dict) else ():
            yield (*WORKLOAD, program, "mounts", inside)


_PROGRAMS = (SERVER, "device", DRIVER)


def check_workload(document: Document) -> None:
    """Add to `document` the mistakes of a workload and of the keys beside it."""
    if not has_workload(document):
        if document.at(TRAINING) is None and not document.has_mistake(TRAINING):
            document.complain(
                TRAINING,
                "is missing: training: the data set, the model, and the algorithm with its parts; "
                "or write workload, for programs of your own",
            )
        else:
            _check_stop(document, OF_WORKLOAD.keys() - CONDITIONS.keys(), _UNKNOWN)
        return
    if document.at(TRAINING) is not None:
        document.complain(WORKLOAD, "stands beside training: give one of the two")
        return
    _check_stop(document, CONDITIONS.keys() - OF_WORKLOAD.keys(), _UNSEEN)
    for address, text in _texts(document):
        _check_words(document, address, text)
    for program in _PROGRAMS:
        mounts = document.at((*WORKLOAD, program, "mounts"))
        for inside in mounts if isinstance(mounts, dict) else ():
            _check_inside(document, (*WORKLOAD, program, "mounts", inside), inside)
    _check_inside(document, (*WORKLOAD, "output"), document.at((*WORKLOAD, "output")))


def _check_stop(document: Document, keys: Iterable[str], why: str) -> None:
    for key in sorted(keys):
        if document.at(("stop", key)) is not None:
            document.complain(("stop", key), why)


def _check_inside(document: Document, address: Address, path: Any) -> None:
    """Check that `path`, of a container, begins at its root, and is not the root itself."""
    if isinstance(path, str) and (not path.startswith("/") or not path.strip("/.")):
        document.complain(address, f"{path!r} is no absolute path in the container, as /results")


def _texts(document: Document) -> Iterator[tuple[Address, str]]:
    """Yield the texts in which words in braces are replaced, with their addresses."""
    for program in _PROGRAMS:
        command, address = document.at((*WORKLOAD, program, "command")), (*WORKLOAD, program)
        words = command if isinstance(command, list) else [command]
        yield from (((*address, "command"), text) for text in words if isinstance(text, str))
        env = document.at((*address, "env"))
        for name, text in env.items() if isinstance(env, dict) else ():
            if isinstance(text, str):
                yield (*address, "env", name), text


def _check_words(document: Document, address: Address, text: str) -> None:
    """Check that no word in braces is a misspelt one; braces may mean anything to a program."""
    for word in _BRACED.findall(text):
        if word not in WORDS and (meant := suggestion(word, WORDS)):
            document.complain(address, f"{{{word}}} is not replaced by anything{meant}")
    try:
        if address[-1] == "command":
            shlex.split(text)
    except ValueError as error:
        document.complain(address, f"{text!r} is no command: {error}")


def check_beside_workload(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each key and fault of `scenario` that does not go with its
    workload. A key with its default, as a resolved scenario has it, does no harm."""
    if scenario.workload is None:
        return
    for address, why in INSIDE.items():
        holder: Any = scenario if len(address) == 1 else scenario.server
        field = type(holder).model_fields[address[-1]]
        default = field.get_default(call_default_factory=True, validated_data={})
        if getattr(holder, address[-1]) != default:
            document.complain(address, f"does not go with a workload: {why}")
    for entry in scenario.targets_of_faults.entries():
        if entry.fault.per_iteration is not None:
            why = "is drawn by our own worker in each iteration: give `at` or `every` in its place"
            document.complain((*entry.place, "per_iteration"), f"of a workload: it {why}")
        if verbs.row(entry.fault.begin("").verb).by == "worker":
            document.complain(
                (*entry.place, "kind"),
                f"{entry.fault.kind!r} acts inside our own worker, and the programs of a workload "
                f"are not seen from inside: {place(entry.place)} can be a crash, partition, pause, "
                "slow, memory, degrade or another fault that acts from outside",
            )
