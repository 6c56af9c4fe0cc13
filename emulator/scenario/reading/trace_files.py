"""Trace files: on/off transitions in CSV, or FedScale's lists of active and inactive times.

A CSV file has one trace, a line for each transition: `0,on`, `3600,off`, and `86400,end` where the
trace begins anew. A JSON or YAML file has one or many traces, `{active: [seconds, …], inactive:
[seconds, …], finish_time: seconds}` each, in a list or by name, as FedScale's
`client_behave_trace` (Lai et al., 2022), which is pickled there and has to be converted: a pickle
may run any program.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ...plugins.plain_files import read_plain
from ...units import plain_digits
from ...world.faults.availability import parted
from ...world.faults.on_off_trace import END, OFF, ON, OnOffTrace, Step, TraceStepError, text_of
from ...world.links.traces.base import cells
from .document import Address, Document, Mark, Mistake
from .yaml_subset import read

LARGEST_FILE = 64 << 20
"""Largest trace file in bytes."""

_CONVERT = (
    "write a .csv, .json or .yaml file (python -c 'import json, pickle; "
    'json.dump(pickle.load(open("trace.pkl", "rb")), open("trace.json", "w"))\' converts a pickle '
    "that you trust)"
)


def find_traces(document: Document, folder: Path) -> None:
    """Replace the path in each `trace` of `document` by the texts of the file's traces.

    A text keeps the name of its trace if a device has that name.

    The path counts from `folder`, that of the scenario, or from the folder of the failure profile
    that names it. Adds the mistakes in the files to `document`.
    """
    read_before: dict[Path, Document] = {}
    for address in list(_uses(document)):
        given = document.at(address)
        # absent, spelled out, or refused by its type or as no text of a path
        if not isinstance(given, str) or document.has_mistake(address):
            continue
        file = document.folder(address, given, folder) / given
        if file not in read_before:
            read_before[file] = _named_by(document.mark(address), read_traces(file))
        traces = read_before[file]
        if traces.marks[()].line == _NO_FILE:
            document.complain(address, traces.mistakes[0].message)
        else:
            texts = [_kept(text, document) for text in traces.data]
            document.graft(address, replace(traces, data=texts))


def _kept(text: str, document: Document) -> str:
    """Return the trace `text` without its name, unless a device of `document` has the name."""
    name, steps = parted(text)
    return text if name and _is_device(name, document) else steps.strip()


def _is_device(name: str, document: Document) -> bool:
    """Return whether a group of `document` has a device called `name`."""
    whole, _, number = name.rpartition("-")
    for _, group in document.entries(("devices",), dict):
        count = group.get("count")
        if count is None and group.get("name") == name:
            return True
        if (
            isinstance(count, int)
            and group.get("name") == whole
            and number.isdecimal()
            and str(int(number)) == number
            and int(number) < count
        ):
            return True
    return False


def _named_by(mark: Mark, traces: Document) -> Document:
    """Return `traces` with mistakes that tell where their file is named: at `mark`."""
    where = str(Mistake(mark, "")).removesuffix(": ")
    if traces.marks[()].line != _NO_FILE:  # else the mistake stands at `mark` itself
        traces.mistakes[:] = [
            mistake._replace(message=f"{mistake.message} (named by {where})")
            for mistake in traces.mistakes
        ]
    return traces


_NO_FILE = -1


def read_traces(file: Path) -> Document:
    """Return the texts of the traces in `file`, a list, or an empty list and the mistakes.

    The mark of a file that cannot be read at all has no line.
    """
    kind = file.suffix.lower()
    if kind not in (".csv", ".json", ".yaml", ".yml"):
        return _unread(file, f"{file} is no trace: {_CONVERT}")
    try:
        if file.stat().st_size > LARGEST_FILE:
            return _unread(file, f"{file} is larger than {LARGEST_FILE >> 20} MiB")
        if kind == ".csv":
            return _of_csv(file, read_plain(file).decode())
        data = Document(None, {}) if kind == ".json" else read(file)
        if kind == ".json":
            data = Document(json.loads(read_plain(file)), {(): Mark(str(file), None, ())})
    except OSError as error:
        return _unread(file, f"{file} cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:  # no text, or no JSON
        line = getattr(error, "lineno", None)
        return _refused(file, [Mistake(Mark(str(file), line, ()), f"is no {kind[1:]}: {error}")])
    return _of_lists(file, data)


def _unread(file: Path, message: str) -> Document:
    mark = Mark(str(file), _NO_FILE, ())
    return Document([], {(): mark}, [Mistake(mark, message)], {()})


def _refused(file: Path, mistakes: list[Mistake]) -> Document:
    return Document([], {(): Mark(str(file), None, ())}, mistakes, {()})


def _of_csv(file: Path, text: str) -> Document:
    """Return the one trace of a CSV file; a first line without a number is a header."""
    steps, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        seconds, *words = cells(content)
        word = ",".join(words)
        try:
            steps.append(Step(float(plain_digits(seconds)), word.lower()))
            lines.append(number)
        except ValueError:
            if not steps and number == 1:
                continue
            message = f"{line.strip()!r} is not as `3600,off`, seconds and {ON}, {OFF} or {END}"
            return _refused(file, [Mistake(Mark(str(file), number, ()), message)])
    try:
        OnOffTrace.of(steps)
    except TraceStepError as error:
        line_number = lines[error.number] if lines else None
        message = str(error).replace(f"{END} 86400", f"86400,{END}")
        return _refused(file, [Mistake(Mark(str(file), line_number, ()), message)])
    return Document([text_of(steps)], {(): Mark(str(file), None, ())})


def _of_lists(file: Path, data: Document) -> Document:
    """Return the traces in `data`, lists of active and inactive times."""
    texts = []
    for address in _entries(data):
        steps = list(_steps(data, address))
        if data.mistakes:
            break
        try:
            OnOffTrace.of([step for step, _ in steps])
        except TraceStepError as error:
            data.complain(steps[error.number][1], str(error))
            break
        name = address[0] if address and isinstance(address[0], str) else ""
        texts.append(f"{name}: " * bool(name) + text_of([step for step, _ in steps]))
    if not (texts or data.mistakes):
        data.complain((), "holds no trace: write `{active: […], inactive: […], finish_time: …}`")
    if data.mistakes:  # one of the first is enough: others are likely to be of the same kind
        return _refused(file, data.mistakes)
    return Document(texts, {(): Mark(str(file), None, ())})


def _entries(data: Document) -> Iterator[Address]:
    """Yield the addresses of the traces in `data`."""
    if isinstance(data.data, dict) and "active" in data.data:
        yield ()
    elif isinstance(data.data, dict):
        yield from ((name,) for name in data.data)
    elif isinstance(data.data, list):
        yield from ((number,) for number in range(len(data.data)))


def _steps(data: Document, address: Address) -> Iterator[tuple[Step, Address]]:
    """Yield the steps of the trace at `address` in ascending order, with the steps' own addresses.

    Times from `finish_time` on never come, as in FedScale, and are left out.
    """
    entry = data.at(address)
    if not isinstance(entry, dict):
        data.complain(address, "is not a mapping with `active`, `inactive` and `finish_time`")
        return
    times: dict[str, list[Any]] = {}
    for key in ("active", "inactive"):
        times[key] = entry.get(key, [])
        if not (isinstance(times[key], list) and all(map(_is_number, times[key]))):
            data.complain((*address, key), "is not a list of numbers of seconds")
            return
    finish: Any = entry.get("finish_time")
    if not _is_number(finish):
        data.complain(
            (*address, "finish_time"),
            "is not the number of seconds after which the trace begins anew",
        )
        return
    steps = chain.from_iterable(
        ((Step(float(at), word), (*address, key, index)) for index, at in enumerate(times[key]))
        for key, word in (("active", ON), ("inactive", OFF))
    )
    yield from sorted(step for step in steps if step[0].at < finish)
    yield Step(float(finish), END), (*address, "finish_time")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _uses(document: Document) -> Iterator[Address]:
    """Yield the addresses at which a fault of `document` may name a trace."""
    for fault, keys in document.faults():
        if keys.get("kind") == "availability":
            yield (*fault, "trace")
