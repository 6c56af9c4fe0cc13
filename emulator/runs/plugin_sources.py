"""Sources of the users' plugins of a scenario, kept in the folder `plugins/` of the run.

A file and the modules beside it that it imports keep their names. The packages of entry points are
in `plugins/installed/`, with metadata that names the entry points, as beside installed packages.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..plugins import own_class
from ..plugins.own_class import raised_by
from ..plugins.python_file import is_reference
from ..scenario import Scenario, dump

FOLDER = "plugins"
"""Folder of the sources in the run's folder."""
INSTALLED = "installed"
"""Folder in `FOLDER` that stands for the folder of installed packages."""


@dataclass(frozen=True)
class PluginSources:
    """The sources of the users' plugins of a run."""

    references: tuple[str, ...] = ()
    """Objects of files, as `/lab/own.py:Mine`."""
    points: tuple[EntryPoint, ...] = ()
    folder: Path = Path()
    """The run's folder; a file that is in its `plugins/` already stays where it is."""

    def __bool__(self) -> bool:
        return bool(self.references or self.points)

    @cached_property
    def places(self) -> Mapping[str, str]:
        """The place of each reference's file in `plugins/`, with the object: `own.py:Mine`."""
        kept = self.folder / FOLDER
        numbers: dict[Path, int] = {}
        places = {}
        for text in self.references:
            file = Path(text.rpartition(":")[0])
            if file.is_relative_to(kept):
                places[text] = os.path.relpath(text, kept)
                continue
            # files of several folders may have the same names
            number = numbers.setdefault(file.parent, len(numbers) + 1)
            inside = "" if number == 1 else f"{number}/"
            places[text] = inside + os.path.basename(text)
        return places

    def write(self, folder: Path) -> None:
        """Write the sources to `plugins/` in `folder`."""
        for path, content in self.contents.items():
            file = folder / FOLDER / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    @property
    def beside(self) -> dict[str, str]:
        """The place of each reference's file, seen from the folder that has `plugins/`."""
        return {text: f"./{FOLDER}/{place}" for text, place in self.places.items()}

    def plain(self) -> list[dict[str, str]]:
        """Return the sources for the manifest, each file with its digest."""
        return [
            {"file": f"{FOLDER}/{path}", "sha256": sha256(content).hexdigest()}
            for path, content in sorted(self.contents.items())
        ]

    @property
    def digest(self) -> str:
        """Digest of the contents, which changes with anything that could change the run."""
        return sha256(repr(sorted(self.contents.items())).encode()).hexdigest() if self else ""

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """The contents of the files, by path in `plugins/`."""
        found: dict[str, bytes] = {}
        for text, place in self.places.items():
            parent = Path(place).parent
            found |= {
                str(parent / path): content for path, content in own_class.contents(text).items()
            }
        for point in self.points:
            found |= {f"{INSTALLED}/{path}": text for path, text in _package(point.module).items()}
        lines: dict[str, list[str]] = {}
        for point in self.points:
            lines.setdefault(point.group, []).append(f"{point.name} = {point.value}\n")
        if lines:
            about = f"{INSTALLED}/emulate_plugins-0.dist-info"
            groups = (f"[{group}]\n{''.join(names)}" for group, names in lines.items())
            found[f"{about}/entry_points.txt"] = "\n".join(groups).encode()
            metadata = b"Metadata-Version: 2.1\nName: emulate-plugins\nVersion: 0\n"
            found[f"{about}/METADATA"] = metadata
        return found


def kept_scenario(
    scenario: Scenario, sources: PluginSources, places: Mapping[str, str] | None = None
) -> str:
    """Return `scenario` as YAML that names its kept `sources`, for a file beside `plugins/`.

    `places` has the places of other files by their paths.
    A function that returns data keeps its path: the data is in the cache, and the function may read
    files beside its own.
    """
    beside = sources.beside
    if scenario.workload is None:
        beside.pop(getattr(scenario.training.dataset, "file", ""), None)
    return dump(scenario, {**beside, **(places or {})})


def plugin_sources(part: Any, folder: Path) -> PluginSources:
    """Return the sources of the users' plugins in `part` of a scenario, for the run in `folder`."""
    found = list(dict.fromkeys(_plugins(part)))
    points = tuple(
        point for group, name in found if group for point in entry_points(group=group, name=name)
    )
    return PluginSources(tuple(text for group, text in found if not group), points, folder)


def _plugins(value: Any) -> Iterator[tuple[str, str]]:
    """Yield group and source of each user's plugin in `value`; files have no group."""
    if isinstance(value, str):
        if is_reference(value) and os.path.isabs(value):
            yield "", value
        return
    source = getattr(type(value), "plugin_source", None)
    if source is not None:
        yield type(value).plugin_group, source
    for inner in _inside(value):
        yield from _plugins(inner)


def _inside(value: Any) -> list[Any]:
    if (names := getattr(type(value), "model_fields", None)) is not None:
        return [getattr(value, name) for name in names]
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return list(value) if isinstance(value, tuple) else []


def _package(module: str) -> dict[str, bytes]:
    """Return the sources of the package of `module`, by their paths beside installed packages."""
    top = module.partition(".")[0]
    spec = find_spec(top)
    assert spec is not None and spec.origin is not None  # it has been imported
    origin = Path(spec.origin)
    if spec.submodule_search_locations is None:
        return {origin.name: origin.read_bytes()}
    return {
        file.relative_to(origin.parents[1]).as_posix(): file.read_bytes()
        for file in sorted(origin.parent.rglob("*.py"))
    }


def own_plugins(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    """Yield key and plugin of each part of the training that is a user's."""
    for key in () if scenario.workload else type(scenario.training).model_fields:
        plugin = getattr(scenario.training, key)
        if hasattr(type(plugin), "plugin_source"):
            yield key, plugin


def blamed(scenario: Scenario, error: Exception) -> Exception:
    """Return `error`; with file and line if a user's plugin of `scenario` raised it."""
    for _, plugin in own_plugins(scenario):
        if (raised := raised_by(error, type(plugin))) is not None:
            return raised
    return error
