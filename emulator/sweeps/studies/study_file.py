"""Reading of a study's file, and of a user's file with entries to add to a study."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import suggestion
from ...plugins.python_file import is_reference
from ...scenario.reading.document import Address, Document
from ...scenario.reading.yaml_subset import read
from .entries import Entry, Quick, Study, grid_text
from .study_keys import ADDED, STUDY, Check

Plain: TypeAlias = Mapping[str, Any]


def read_study(path: Path, added: Path | None = None) -> Study:
    """Return the study in the file at `path`, with the entries of the file `added`.

    Raises ScenarioError with every mistake of one of the files.
    """
    plain = _checked(path, STUDY, _check_names)
    blocks = [_Block(path, plain, number) for number in range(len(plain["entries"]))]
    entries = [entry for block in blocks for entry in block.entries()]
    if added is not None:
        own = _checked(added, ADDED, lambda document: _check_added(document, blocks))
        entries += _added(blocks, added, own)
        worlds = [entry.world for entry in entries]
        entries.sort(key=lambda entry: worlds.index(entry.world))  # beside the paper's
    return Study(
        name=plain["name"],
        about=plain["about"],
        scenario=path.parent / plain["scenario"],
        entries=tuple(entries),
        target=plain.get("target", 1.0),
        also=tuple((first, second) for first, second in plain.get("also", ())),
        plans=plain.get("plans", ""),
        question=plain.get("question", ""),
        paper=path.parent.name,
        quick=_quick(plain.get("quick", {})),
    )


def _checked(path: Path, keys: Check, names: Callable[[Document], None]) -> Any:
    """Return the data in the file at `path`, of which `keys` and then `names` find no mistake."""
    document = read(path)
    for check in (lambda document: keys(document, ()), names):
        if not document.mistakes:
            check(document)
    if document.mistakes:
        raise document.refusal()
    return document.data


def _quick(plain: Plain) -> Quick:
    over = {axis: tuple(map(_text, values)) for axis, values in plain.get("over", {}).items()}
    return Quick(
        _overrides(plain.get("set", {})),
        plain.get("seeds", 1),
        plain.get("rates", 1),
        tuple(plain.get("worlds", ())),
        over,
    )


def _overrides(sets: Plain) -> tuple[str, ...]:
    """Return the values of `sets` as overrides; JSON is YAML."""
    return tuple(f"{path}={json.dumps(value)}" for path, value in sets.items())


def _values(grid: Plain) -> Plain:
    """Return what each value of `grid` sets, by the value's text."""
    values = grid["values"]
    if isinstance(values, dict):
        return values
    return {_text(value): {grid["key"]: value} for value in values}


def _text(value: Any) -> str:
    """Return a value of a grid as the tables show it."""
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class _Block:
    """A block of a study's file: worlds, and the entries that are played in each of them."""

    path: Path
    file: Plain
    number: int

    @property
    def plain(self) -> Plain:
        block: Plain = self.file["entries"][self.number]
        return block

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of each world, with every combination of values on the grids."""
        grids: Plain = self.plain.get("over", {})
        for world, (name, setting) in product(self.plain["worlds"], self.plain["entries"].items()):
            place = f"{self.path}: entries[{self.number}].entries.{name}: set"
            played = list(self.played(world, name, setting, place))
            for values in product(*(_values(grid).items() for grid in grids.values())):
                over = dict(zip(grids, (text for text, _ in values), strict=True))
                sets = tuple(text for _, own in values for text in _overrides(own))
                full = f"{name}{grid_text(over)}"
                for entry in played:
                    yield replace(entry, name=full, sets=(*entry.sets, *sets), over=over)

    def played(self, world: str, name: str, setting: Plain, place: str) -> Iterator[Entry]:
        """Yield an entry of `world`, in virtual time and, if it asks for that, in containers.

        The entry's own `setting` counts before those around it.
        """
        around = (self.file, self.plain, self.plain["worlds"][world] or {}, setting)

        def said(key: str, default: Any = None) -> Any:
            return next((level[key] for level in reversed(around) if key in level), default)

        sets = {path: value for level in around for path, value in level.get("set", {}).items()}
        rates = said("rates")
        entry = Entry(
            world,
            name,
            self.path.parent / said("scenario"),
            _overrides(sets),
            tuple(f"{rate:g}" for rate in (rates[world] if isinstance(rates, dict) else rates)),
            said("seeds", 3),
            said("short", False),
            place=place,
        )
        yield entry
        if seeds := said("containers", 0):
            yield replace(entry, on="docker", seeds=seeds, short=False)


# -- entries of a user's file ----------------------------------------------------------------------


def _added(blocks: Sequence[_Block], path: Path, own: Plain) -> Iterator[Entry]:
    """Yield the entries of the file at `path` in each of its worlds, with the worlds' settings."""
    for world in _worlds(blocks, own):
        block = _home(blocks, world)
        for name, setting in own["entries"].items():
            beside = {key: _beside(value, path.parent) for key, value in setting.items()}
            if "scenario" in beside:
                beside["scenario"] = str((path.parent / setting["scenario"]).resolve())
            yield from block.played(world, name, beside, f"{path}: entries.{name}: set")


def _worlds(blocks: Sequence[_Block], own: Plain) -> Sequence[str]:
    """Return the worlds of a user's file: without any, those of the study's first block."""
    return own.get("worlds") or list(blocks[0].plain["worlds"])


def _home(blocks: Sequence[_Block], world: str) -> _Block:
    """Return the first block with the world `world`."""
    return next(block for block in blocks if world in block.plain["worlds"])


def _beside(value: Any, folder: Path) -> Any:
    """Return `value` with paths and names of Python files, as `./own.py:Mine`, from `folder`."""
    match value:
        case dict():
            return {key: _beside(inner, folder) for key, inner in value.items()}
        case list():
            return [_beside(inner, folder) for inner in value]
        case str() if is_reference(value) or value.startswith(("./", "../")):
            return str(folder.resolve() / value)
    return value


# -- mistakes in names -----------------------------------------------------------------------------


def _check_names(document: Document) -> None:
    """Record names that are written twice or lead nowhere, and entries without learning rates."""
    plain = document.data
    names: dict[str, list[str]] = {}
    worlds: dict[str, None] = {}
    for number, block in enumerate(plain["entries"]):
        worlds |= dict.fromkeys(block["worlds"])
        for world, name in product(block["worlds"], block["entries"]):
            at = ("entries", number, "entries", name)
            _check_rates(document, at, world, (block, block["worlds"][world] or {}))
            if world in names.setdefault(name, []):
                document.complain(at, f"stands in the world {world!r} twice")
            names[name].append(world)
    grids = _grids(plain)
    full = [*names, *(f"{name}{end}" for name in names for end in grids)]
    for number, pair in enumerate(plain.get("also", ())):
        for item, name in enumerate(pair):
            _check_known(document, ("also", number, item), name, full)
    if "base" in plain:
        _check_known(document, ("base",), plain["base"], full)
    _check_quick(document, plain.get("quick", {}), list(worlds))


def _check_rates(document: Document, at: Address, world: str, around: Sequence[Plain]) -> None:
    """Record a missing learning rate of the entry at `at`, with the settings `around` it.

    An entry in containers has one rate: virtual time is there to find the best of several.
    """
    levels = (document.at(at), *reversed(around))
    rates = next((level["rates"] for level in levels if "rates" in level), None)
    own = rates.get(world) if isinstance(rates, dict) else rates
    if own is None:
        document.complain(at, f"has no learning rates in the world {world!r}: write rates: [0.1]")
    elif len(own) > 1 and any("containers" in level for level in levels):
        document.complain(
            at, f"has {len(own)} learning rates in containers: write one, as rates: [0.1]"
        )


def _grids(plain: Plain) -> list[str]:
    """Return the ends of the names of entries on grids, as `, c = 1%`."""
    ends = []
    for block in plain["entries"]:
        grids: Plain = block.get("over", {})
        for values in product(*map(_values, grids.values())):
            ends.append(grid_text(dict(zip(grids, values, strict=True))))
    return ends


def _check_known(document: Document, at: Address, name: str, known: Sequence[str]) -> None:
    if name not in known:
        there = ", ".join(dict.fromkeys(known))
        document.complain(at, f"{name!r} is not in this study{suggestion(name, known)}: {there}")


def _check_quick(document: Document, quick: Plain, worlds: Sequence[str]) -> None:
    """Record worlds and values of the quick study that the whole one lacks."""
    for number, world in enumerate(quick.get("worlds", ())):
        _check_known(document, ("quick", "worlds", number), world, worlds)
    grids: dict[str, list[str]] = {}
    for block in document.data["entries"]:
        for axis, grid in block.get("over", {}).items():
            grids.setdefault(axis, []).extend(_values(grid))
    for axis, values in quick.get("over", {}).items():
        _check_known(document, ("quick", "over", axis), axis, list(grids))
        for number, value in enumerate(values if axis in grids else ()):
            _check_known(document, ("quick", "over", axis, number), _text(value), grids[axis])


def _check_added(document: Document, blocks: Sequence[_Block]) -> None:
    """Record worlds that the study lacks, names that it has, and entries without rates."""
    known = list(dict.fromkeys(world for block in blocks for world in block.plain["worlds"]))
    there = {(entry.world, entry.name) for block in blocks for entry in block.entries()}
    for number, world in enumerate(document.data.get("worlds", ())):
        _check_known(document, ("worlds", number), world, known)
    for world, name in product(_worlds(blocks, document.data), document.data["entries"]):
        if world not in known:
            continue
        at, home = ("entries", name), _home(blocks, world)
        _check_rates(document, at, world, (home.plain, home.plain["worlds"][world] or {}))
        if (world, name) in there:
            document.complain(at, f"the world {world!r} has an entry of this name: choose another")
