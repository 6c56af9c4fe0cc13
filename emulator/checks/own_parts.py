"""Checks of a user's own parts: data and models that may be misunderstood, plugins that cannot be
used, and imports that would fail in the containers, whose image has few packages.
"""

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import PythonFileError
from ..learning.datasets import OwnDataset, describe
from ..learning.models import OwnModel
from ..node.durable.packed_state import packed, unpacked
from ..plugins.own_class import calling
from ..plugins.stateful import Stateful
from ..runs.plugin_sources import INSTALLED, own_plugins, plugin_sources
from ..scenario import Scenario
from ..scenario.sections.server_section import NONE
from .finding import Finding, refusal, warning
from .laws.codec_laws import BrokenLaw
from .laws.plugin_trials import TRIALS, patience_doubt

MEMBERS = 100
"""Largest number of devices in the trial of a synchronization."""

PACKAGES = ("numpy", "msgspec", "zmq")
"""Packages of the image beside the standard library; images/node/requirements.txt names them."""
PYTHON = (3, 11)
"""Version of Python in the image; this host's may be newer."""
_REMOVED = (
    "aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 mailcap "
    "msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib"
)
STANDARD = (sys.stdlib_module_names | {*_REMOVED.split()}) - {"annotationlib", "compression"}
"""Modules of the standard library of `PYTHON`, from those of this host's Python up to 3.14."""
HOST_ONLY = ("analysis", "checks", "cli", "costs", "runs", "runtimes", "scenario", "sweeps")
"""Parts of `emulator` that need packages which the image lacks."""


def misunderstood_parts(scenario: Scenario) -> list[Finding]:
    """Warn of each doubt about the data of `scenario`, and of a model that is compiled: a run takes
    loss and optimizer from the scenario alone."""
    training = scenario.training
    found = []
    if isinstance(training.dataset, OwnDataset):
        described = describe(training.dataset)
        found += [
            warning("training.dataset", f"{described.name}: {note}") for note in described.notes
        ]
    model = training.network if isinstance(training.model, str) else None
    if isinstance(model, OwnModel) and model.compiled:
        why = (
            f"{model.title} is compiled with {model.compiled}, which no run uses: the loss "
            f"is {model.origin.loss}, the optimizer {training.optimizer.kind}: set training.loss "
            "and training.optimizer"
        )
        found.append(warning("training.model", why))
    return found


def unfit_plugins(scenario: Scenario) -> Iterator[Finding]:
    """Refuse each plugin of a user that raises an error, or returns a result that no run can use.

    Where the server's work outlives its process, a state that no file can hold is refused too.
    """
    members = [node.name for node in scenario.nodes[:MEMBERS]]
    for key, plugin in own_plugins(scenario):
        problem = ""
        try:
            with calling(type(plugin)):
                try:
                    state = TRIALS[key](plugin, scenario.training.layout, members)
                    if state is not None and scenario.server.durability != NONE:
                        problem = _unkept(plugin, state)
                except BrokenLaw as broken:
                    problem = f"{plugin.kind}: {broken}"
        except PythonFileError as error:
            problem = str(error)
        if problem:
            yield refusal(f"training.{key}", problem)


def doubtful_plugins(scenario: Scenario) -> list[Finding]:
    """Warn of a user's synchronization that waits for a device without an end, or that counts no
    steps without the device."""
    members, doubts = [node.name for node in scenario.nodes[:MEMBERS]], []
    for key, plugin in own_plugins(scenario):
        if key == "synchronization":
            with suppress(PythonFileError), calling(type(plugin)):  # refused by `unfit_plugins`
                if doubt := patience_doubt(plugin, members):
                    doubts.append(warning(f"training.{key}", f"{plugin.kind}: {doubt}"))
    return doubts


def _unkept(plugin: Any, state: Any) -> str:
    """Return why the `state` of `plugin` cannot be saved and taken up again; empty if it can."""
    if missing := _unsaid(type(state)):
        return f"{plugin.kind}: {missing}"
    try:
        saved = packed(state.state())
    except TypeError as error:
        return (
            f"{plugin.kind}: {error}: with server.durability a plugin keeps numbers, text, arrays, "
            "containers, Held values, and random generators"
        )
    try:
        state.restore(unpacked(saved))
    except (KeyError, TypeError, ValueError) as error:
        return f"{plugin.kind}: restore(state) does not take what state() gives: {error!r}"
    return ""


def _unsaid(cls: type[Any]) -> str:
    """Return what the class of a plugin's state lacks to be saved; empty if it lacks nothing."""
    for own in cls.__mro__:
        names = vars(own).keys()
        if {"state", "restore"} <= names or ("STATE" in names and issubclass(own, Stateful)):
            return ""
        if "__init__" in names:
            break  # attributes of which no state tells
    return (
        f"with server.durability {cls.__name__} needs methods state() and restore(state), or, as "
        "an emulator.plugins.stateful.Stateful, the names of its attributes in STATE"
    )


def missing_imports(scenario: Scenario) -> Iterator[Finding]:
    """Refuse each module that a plugin of `scenario` imports and the image lacks.

    Only imports at the top level of a file count: others may never be reached. Faults, models and
    data sets are used on the host alone.
    """
    sources = plugin_sources(scenario.training.parts, Path())
    own = {_top(path) for path in sources.contents}
    for path, content in sources.contents.items():
        if not path.endswith(".py"):
            continue
        try:
            # 3.12 and later know more syntax, which ends a run in its containers
            imports = [*_imports(content)]
        except SyntaxError as error:
            yield refusal(
                f"{path}:{error.lineno}",
                f"{error.msg}: containers have Python 3.11: write the plugin for 3.11, or play "
                "with --on virtual",
            )
            continue
        for line, name in imports:
            first, _, rest = name.partition(".")
            if first == "emulator":
                lacking = rest.partition(".")[0] in HOST_ONLY
            else:
                lacking = first not in {*STANDARD, *PACKAGES, *own}
            if lacking:
                yield refusal(
                    f"{path}:{line}",
                    f"imports {name!r}, which containers lack: they have the standard library, "
                    f"{', '.join(PACKAGES)} and emulator; play with --on virtual",
                )


def _top(path: str) -> str:
    """Return the name under which the file at `path` in `plugins/` is imported."""
    parts = [part for part in Path(path).parts if part != INSTALLED and not part.isdigit()]
    return parts[0].removesuffix(".py")


def _imports(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield line and name of each module that the code imports by an absolute name."""
    for node in ast.parse(content, feature_version=PYTHON).body:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module="emulator", names=names, level=0):
                yield from ((node.lineno, f"emulator.{alias.name}") for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module
