"""The declared dependencies are those that are imported, at versions that have been used.

A fresh environment is made by `make lowest`, for it takes minutes and a gigabyte; where the
environment is, it is used here.
"""

import re
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

from tests.installing.fresh_install import LOWEST, use
from tests.layers import FILES, ROOT, imports

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUNS = {"pydantic": (2, 10), "numpy": (2, 0), "docker": (7, 1), "pandas": (2, 2, 2)} | {
    "tensorflow": (2, 18),
    "tensorflow-cpu": (2, 18),
    "matplotlib": (3, 8, 4),
    "pyzmq": (26,),
    "msgspec": (0, 18),
    "rich": (13, 7),
}
"""Versions below these cannot work: TensorFlow 2.17 wants numpy 1, docker 7.0 breaks requests."""
NAMES = {"yaml": "pyyaml", "zmq": "pyzmq", "PIL": "pillow", "markdown_it": "markdown-it-py"}
"""Packages whose module has another name."""
BROUGHT = {"pydantic_core": "pydantic", "requests": "docker", "PIL": "matplotlib"}
"""Modules for values of a declared package, which always brings them."""
EXTRA = {"pyarrow", "distributed", "networkx", "topohub"}


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _declared() -> dict[str, tuple[int, ...]]:
    """Return each declared dependency with its lowest version."""
    found = {}
    for line in PROJECT["dependencies"]:
        name, version = re.match(r"([\w-]+)>=([\d.]+)", line).groups()
        found[_plain(name)] = tuple(map(int, version.split(".")))
    return found


def test_every_dependency_has_a_lowest_version_that_has_been_used() -> None:
    declared = _declared()
    assert not {name for name, lowest in RUNS.items() if declared[name] < lowest}


@pytest.mark.slow
def test_every_imported_package_is_declared_and_every_declared_one_is_imported() -> None:
    analysis = sorted((ROOT / "analysis").rglob("*.py"))
    tops = {name.split(".")[0] for path in [*FILES, *analysis] for name in imports(path)}
    tops -= {*sys.stdlib_module_names, "emulator", "analysis"}
    for module, package in BROUGHT.items():
        brought = {_plain(re.match(r"[\w-]+", line)[0]) for line in requires(package) or ()}
        assert _plain(NAMES.get(module, module)) in brought
    wanted = {_plain(NAMES.get(top, top)) for top in tops - {*BROUGHT}}
    declared = {*_declared()}
    assert wanted - declared - EXTRA == set()
    assert declared - wanted == {"pip", "tensorflow-cpu"}  # pip runs as a program


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.skipif(not (LOWEST / "bin" / "emulate").exists(), reason="make lowest has not run")
def test_the_lowest_versions_check_play_draw_and_export(tmp_path: Path) -> None:
    use(LOWEST / "bin", tmp_path)
