"""Imports of users' plugins that would fail in the containers, whose image has few packages."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from ..errors import ScenarioError
from ..runs.plugin_sources import INSTALLED, plugin_sources
from ..scenario import Scenario

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


def missing_imports(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield an error for each module that a plugin of `scenario` imports and the image lacks.

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
            yield ScenarioError(
                f"{path}:{error.lineno}: {error.msg}: containers have Python 3.11: write the "
                "plugin for 3.11, or play with --on virtual"
            )
            continue
        for line, name in imports:
            first, _, rest = name.partition(".")
            if first == "emulator":
                lacking = rest.partition(".")[0] in HOST_ONLY
            else:
                lacking = first not in {*STANDARD, *PACKAGES, *own}
            if lacking:
                yield ScenarioError(
                    f"{path}:{line}: imports {name!r}, which containers lack: they have the "
                    f"standard library, {', '.join(PACKAGES)} and emulator; play with --on virtual"
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
