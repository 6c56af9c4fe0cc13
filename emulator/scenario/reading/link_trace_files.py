"""The trace files that the sides of links name: their samples take the files' place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...units import (
    Rate,
    about,
    three_digits,
)
from ...world.links.link_course import OUTAGE
from ...world.links.traces import AUTO, FORMATS, LinkTrace, TraceLineError, Way
from ...world.links.traces.trace_file import read_trace, trace_mistakes
from ...world.links.traces.trace_statistics import statistics
from .document import Address, Document, Mark, Mistake
from .split_groups import split_groups

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
    groups = document.at(("devices",))
    for index in range(len(groups) if isinstance(groups, list) else 0):
        yield from _sides(document, ("devices", index, "link"))


def _constant_sides(document: Document) -> Iterator[Address]:
    """Yield the addresses of the sides of the server's link and of the faults' links."""
    yield from _sides(document, ("server", "link"))
    lists: list[Address] = [("faults",)]
    groups = document.at(("devices",))
    for index in range(len(groups) if isinstance(groups, list) else 0):
        failures = document.at(("devices", index, "failures"))
        for number in range(len(failures) if isinstance(failures, list) else 0):
            lists.append(("devices", index, "failures", number, "faults"))
    for address in lists:
        faults = document.at(address)
        for number in range(len(faults) if isinstance(faults, list) else 0):
            yield from _sides(document, (*address, number, "link"))


def _sides(document: Document, link: Address) -> Iterator[Address]:
    for way in WAYS:
        if isinstance(document.at((*link, way)), dict):
            yield (*link, way)
