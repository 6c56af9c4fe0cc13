"""The trace files that the sides of links name: their samples take the files' place."""

import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import cycle
from pathlib import Path
from typing import Any

from ...units import Rate, about, three_digits
from ...world.links.link_course import OUTAGE
from ...world.links.traces import AUTO, FORMATS, LinkTrace, TraceLineError, Way
from ...world.links.traces.trace_file import read_trace, trace_mistakes
from ...world.links.traces.trace_statistics import statistics
from ..sections.devices import device_names
from .document import Address, Document, Mark, Mistake

WAYS: tuple[Way, ...] = ("up", "down")


def find_link_traces(document: Document, folder: Path) -> None:
    """Put the samples of each trace file beside the key `file` that names it, and refuse changes of
    links that cannot change.

    The path counts from the scenario's `folder`, or as `Document.folder` says. Adds the mistakes in
    the files to `document`. A side without a `rate` or a `delay` of its own has the mean of the
    trace, which plans and predictions count with.
    """
    for address in _constant_sides(document):
        for key in ("steps", "trace"):
            if document.at((*address, key)) is not None:
                document.complain(
                    (*address, key), "this link cannot change: give the key to a device's link"
                )
    for address in _device_sides(document):
        if isinstance(path := document.at((*address, "trace")), str):
            document.at(address)["trace"] = {"file": path}
    split_groups(document, folder)
    for address in _background_sides(document):
        if isinstance(path := document.at((*address, "trace")), str):
            document.at(address)["trace"] = {"file": path}
        given = document.at((*address, "trace"))
        if isinstance(given, dict) and isinstance(given.get("file"), str):
            _read(document, (*address, "trace"), given, folder)
        elif isinstance(given, dict) and "files" in given:
            document.complain((*address, "trace", "files"), "background traffic has one `file`")
    for address in _device_sides(document):
        given = document.at((*address, "trace"))
        if isinstance(given, dict) and isinstance(given.get("file"), str):
            _read(document, (*address, "trace"), given, folder)
            _fill(document.at(address), given)


def _read(document: Document, address: Address, given: dict[str, Any], folder: Path) -> None:
    """Add the samples to the mapping `given` at `address`, unless it has them."""
    kind = given.get("format", AUTO)
    if "samples" in given:
        return
    named = (*address, "file")
    if document.has_mistake(named):
        return
    mark = document.mark(named)
    file = document.folder(named, given["file"], folder) / given["file"]
    way: Any = address[-2]
    known = kind in (AUTO, *FORMATS)
    try:
        text, mistakes = read_trace(file, kind if known else AUTO, way).text, []
    except OSError as error:
        document.complain(named, f"{file} cannot be read: {error.strerror}")
        return
    except TraceLineError:
        where = str(Mistake(mark, "")).removesuffix(": ")
        text, mistakes = (
            "",
            [
                Mistake(Mark(str(file), error.line, ()), f"{error} (named by {where})")
                for error in (trace_mistakes(file, kind, way) if known else ())
            ],
        )
    if not known:  # the reader of the key `format` says so
        return
    marks: dict[Address, Mark] = {(): Mark(str(file), None, ())}
    broken: set[Address] = {()} if mistakes else set()
    document.graft((*address, "samples"), Document(text, marks, mistakes, broken))


def _fill(side: dict[str, Any], given: dict[str, Any]) -> None:
    """Add the mean rate and the mean delay of the trace to `side`, unless `side` has the key."""
    scale, samples = given.get("scale", 1.0), given.get("samples")
    if not isinstance(samples, str) or not isinstance(scale, int | float):
        return
    try:
        found = statistics(LinkTrace.parse(samples))
    except ValueError:  # spelled out, and wrong: the reader of the key says so
        return
    if found.rate is not None and "rate" not in side:
        side["rate"] = str(Rate(max(OUTAGE, three_digits(found.rate.mean * scale))))
    if found.delay is not None and "delay" not in side:
        side["delay"] = about(found.delay.mean)


def link_sides(document: Document) -> Iterator[Address]:
    """Yield the addresses of the sides of all links: devices', the server's, and faults'."""
    yield from _device_sides(document)
    yield from _constant_sides(document)


def _device_sides(document: Document) -> Iterator[Address]:
    """Yield the addresses of the sides of the devices' links."""
    for group, _ in document.entries(("devices",)):
        yield from _sides(document, (*group, "link"))


def _background_sides(document: Document) -> Iterator[Address]:
    """Yield the addresses of the directions of background traffic."""
    for place in (("devices",), ("bottlenecks",), ("network", "links")):
        for entry, _ in document.entries(place, dict):
            yield from _sides(document, (*entry, "background"))


def _constant_sides(document: Document) -> Iterator[Address]:
    """Yield the addresses of the sides of the server's link and of the faults' links."""
    yield from _sides(document, ("server", "link"))
    for fault, _ in document.faults():
        yield from _sides(document, (*fault, "link"))


def _sides(document: Document, link: Address) -> Iterator[Address]:
    for way in WAYS:
        if isinstance(document.at((*link, way)), dict):
            yield (*link, way)


MOST_FILES = 1_000
"""Largest number of devices of a group with a trace file each: the resolved scenario repeats the
group's keys for each of them."""


def split_groups(document: Document, folder: Path) -> None:
    """Replace the key `files` in the traces of a group: a group of one device for each file, with
    the key `file`.

    Paths count from the scenario's `folder`, or as `Document.folder` says. Faults and bottlenecks
    that name the group name its devices afterwards. Adds a mistake to `document` for files that are
    missing.
    """
    groups = document.at(("devices",))
    # from the last one on: the addresses of the groups before stay as they are
    for index in reversed(range(len(groups) if isinstance(groups, list) else 0)):
        link: Address = ("devices", index, "link")
        sides: list[Address] = [(*link, way, "trace") for way in ("up", "down")]
        sides = [at for at in sides if document.at((*at, "files")) is not None]
        alone = [at for at in sides if document.at((*at, "file")) is None]
        if sides == alone != [] and (names := _names(document, index)):
            found = {side: _dealt(_files(document, side, folder), names) for side in sides}
            if all(found.values()):
                _split(document, index, names, found)


def _names(document: Document, index: int) -> tuple[str, ...]:
    """Return the devices of a group; none if name or count cannot be read, or for a mistake."""
    name, count = (document.at(("devices", index, key)) for key in ("name", "count"))
    whole = isinstance(count, int) and not isinstance(count, bool) and count > 0
    if not isinstance(name, str) or not (count is None or whole):
        return ()
    if count is not None and count > MOST_FILES:
        message = (
            f"{count:,} devices with a trace file each: write up to {MOST_FILES:,}, or one `file`"
        )
        document.complain(("devices", index, "count"), message)
        return ()
    return device_names(name, count)


def _files(document: Document, trace: Address, folder: Path) -> list[str]:
    """Return the paths in the key `files` at `trace`: a list as it stands, or the files that match
    a pattern or lie in a folder, in the order of their names with numbers by value.

    Adds a mistake to `document` if there are none.
    """
    address = (*trace, "files")
    given = document.at(address)
    if document.has_mistake(address):
        return []
    if isinstance(given, list):
        if not given:
            document.complain(address, "is empty: name a file")
        # the reader of the key refuses what is no text
        return given if all(isinstance(path, str) for path in given) else []
    if not isinstance(given, str):
        return []
    base = document.folder(address, given, folder)
    try:
        matches = _matches(base, Path(given))
    except (OSError, ValueError) as error:
        document.complain(address, f"{given} cannot be read: {error}")
        return []
    visible = [file for file in matches if not file.name.startswith(".")]
    if not visible:
        document.complain(address, f"no file matches {base / given}: write a pattern as ./bw/*.csv")
    ordered = sorted(visible, key=_order)
    if Path(given).is_absolute():
        return [str(file) for file in ordered]
    return [str(Path(*file.parts[len(base.parts) :])) for file in ordered]


def _matches(base: Path, given: Path) -> list[Path]:
    """Return the files in the folder `given`, or those that match the pattern `given`; `base` is
    the folder from which `given` counts, and no pattern."""
    if (base / given).is_dir():
        found = (base / given).glob("*")
    elif given.is_absolute():
        found = Path(given.anchor).glob(str(given.relative_to(given.anchor)))
    else:
        found = base.glob(str(given))
    return [file for file in found if not file.is_dir()]


def _order(file: Path) -> list[tuple[int, int, str]]:
    """Return a key that sorts `home-2` before `home-10`."""
    parts = re.split(r"([0-9]+)", str(file))
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def _dealt(files: list[str], names: tuple[str, ...]) -> dict[str, str]:
    """Return the file of each device of `names`, or nothing without `files`.

    A file named after a device is that device's. The others follow in their order, and begin anew
    behind the last one.
    """
    own: dict[str, str] = {}
    for file in files:
        stem = Path(file).name.partition(".")[0]
        if stem in names:
            own.setdefault(stem, file)
    if not files:
        return {}
    others = cycle([file for file in files if file not in own.values()] or files)
    return {name: own[name] if name in own else next(others) for name in names}


def _split(
    document: Document, index: int, names: tuple[str, ...], found: dict[Address, dict[str, str]]
) -> None:
    """Put a group for each device of `names` in place of the group at `index`.

    `found` has the files of the devices for each trace of the group.
    """
    groups: list[Any] = document.data["devices"]
    group, whole = groups[index], groups[index]["name"]
    group.pop("count", None)
    groups[index : index + 1] = [{**deepcopy(group), "name": name} for name in names]
    document.marks = {
        at: mark for old, mark in document.marks.items() for at in _moved(old, index, len(names))
    }
    document.broken = {at for old in document.broken for at in _moved(old, index, len(names))}
    for side, files in found.items():
        for number, name in enumerate(names):
            address = ("devices", index + number, *side[2:])
            document.marks[*address, "file"] = document.mark((*address, "files"))
            trace = document.at(address)
            del trace["files"]
            trace["file"] = files[name]
    for section, key in (("faults", "nodes"), ("bottlenecks", "members")):
        for _, entry in document.entries((section,), dict):
            listed = entry.get(key)
            if isinstance(listed, list):
                spread = [names if each == whole else (each,) for each in listed]
                entry[key] = [name for each in spread for name in each]
    if isinstance(attach := document.at(("network", "attach")), dict) and whole in attach:
        attach |= dict.fromkeys(names, attach.pop(whole))


def _moved(address: Address, index: int, count: int) -> list[Address]:
    """Return the new addresses of the value at `address`, after `count` groups have taken the place
    of the group at `index`."""
    match address:
        case ("devices", int() as number, *inside) if number == index:
            return [("devices", index + step, *inside) for step in range(count)]
        case ("devices", int() as number, *inside) if number > index:
            return [("devices", number + count - 1, *inside)]
    return [address]
