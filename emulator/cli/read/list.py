"""`emulate list`: list the runs, the newest last."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from ...errors import EmulatorError
from ...runs.folder import conductor, folders
from ..options import JSON_OPTION, RUNS_OPTION
from ..output import console, emit, table

_NUMBER_OR_NONE = (int, float, type(None))


_FACTS: dict[str, tuple[type, ...]] = {
    "outcome": (str,),
    "updates": (int,),
    "final_accuracy": _NUMBER_OR_NONE,
    "compression_ratio": _NUMBER_OR_NONE,
    "duration_s": (int, float),
}
"""Keys of summary.json that the list shows, and the types that their values may have."""

_TRAFFIC = ("push_bytes", "pull_bytes", "both_bytes", "traffic_ratio")
"""Keys of a row for bytes pushed, pulled and both; the summary of an older version has no ratio."""

_KEPT_UP = "kept_up"
"""Key of a row, and of `fidelity` in summary.json, for whether the host kept up with the run."""

_ERROR = "final_error"
"""Key of summary.json that only a regression has."""


@click.command("list", short_help="List the runs, the newest last.")
@RUNS_OPTION
@JSON_OPTION
def list_(runs: Path, as_json: bool) -> None:
    """List the runs, the newest last: outcome, accuracy, and the id that other commands accept.

    "host too slow" marks a run with which this host did not keep up (`kept_up` is false in JSON):
    its times are not those of the emulated devices. A run with a damaged summary or manifest is
    left out, and named on standard error.

    \b
    emulate list
    emulate list --json | jq '.[] | select(.outcome == "failed") | .run'
    """
    rows = list(_rows(folders(runs)))
    nothing = f"no runs in {runs}/: `emulate new` names scenarios to begin with"
    emit(as_json, rows, lambda: _print(rows) if rows else click.echo(nothing))


def _rows(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        try:
            yield _row(path)
        except EmulatorError as error:
            click.echo(f"emulate: left out: {error}", err=True)


def _row(path: Path) -> dict[str, Any]:
    started, _, id = path.name.rpartition("-")
    return {
        "run": f"{path.parent.name}/{path.name}",
        "id": id,
        "scenario": path.parent.name,
        "started": started,
        **facts(path),
    }


def facts(path: Path) -> dict[str, Any]:
    """Return the keys of `_FACTS` for the run in the folder `path`, and the source of its model.

    The values are None, outcome and model aside, while the run has no summary. Raises EmulatorError
    if the summary or the manifest is damaged.
    """
    from ...runs.results import model_source, read_json

    file = path / "summary.json"
    if (path / "manifest.json").exists():
        read_json(path / "manifest.json")
    if not file.exists():
        alive = conductor(path) is not None
        unknown = dict.fromkeys((*_FACTS, *_TRAFFIC, _KEPT_UP))
        outcome = {"outcome": "running" if alive else "unfinished"}
        return unknown | outcome | {"model": None if alive else model_source(path)}
    summary = read_json(file)
    for name, types in _FACTS.items():
        if name not in summary:
            raise EmulatorError(f"{file}: {name} is missing")
        if not isinstance(summary[name], types):
            words = "a text" if str in types else "a number"
            raise EmulatorError(f"{file}: {name}: {summary[name]!r} where {words} was expected")
    error = {_ERROR: summary[_ERROR]} if isinstance(summary.get(_ERROR), int | float) else {}
    model = {"model": model_source(path, summary)}
    own = {name: summary[name] for name in _FACTS} | {_KEPT_UP: _kept_up(summary)}
    return own | _traffic(summary) | error | model


def _kept_up(summary: dict[str, Any]) -> bool | None:
    """Return the verdict whether the host kept up with the run; None if there is none."""
    fidelity = summary.get("fidelity")
    found = fidelity.get(_KEPT_UP) if isinstance(fidelity, dict) else None
    return found if isinstance(found, bool) else None


def _traffic(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the bytes pushed, pulled and both, and the ratio of both to dense; None if unknown."""
    ways: list[dict[str, Any]] = []
    for name in ("push_bytes", "activation_bytes"):
        found = summary.get(name)
        ways.append(found if isinstance(found, dict) else {})
    pushed, pulled = ways[0].get("total"), summary.get("pull_bytes")
    crossed = ways[1].get("up", 0), ways[1].get("down", 0)
    sizes = [size if isinstance(size, int) else None for size in (pushed, pulled, *crossed)]
    known = [size for size in sizes if size is not None]
    both = sum(known) if len(known) == len(sizes) else None
    ratio = summary.get("traffic_ratio")
    values = *sizes[:2], both, ratio if isinstance(ratio, int | float) else None
    return dict(zip(_TRAFFIC, values, strict=True))


_WAYS = ("pushed", "pulled", "both", "pushes fewer", "both fewer")
"""Columns of the bytes, and of how many times fewer they are than dense."""


def _print(rows: list[dict[str, Any]]) -> None:
    shown = table(*("id", "scenario", "started (UTC)", "outcome", "updates", "accuracy"), *_WAYS)
    shown.add_column("lasted")
    for row in rows:
        shown.add_row(
            row["id"],
            row["scenario"],
            _when(row["started"]),
            _outcome(row),
            _or_dash(row["updates"], "{}"),
            _score(row),
            *(_size(row[way]) for way in ("push_bytes", "pull_bytes", "both_bytes")),
            _or_dash(row["compression_ratio"], "{:.1f}x"),
            _or_dash(row["traffic_ratio"], "{:.2f}x"),
            _or_dash(row["duration_s"], "{:.0f} s"),
        )
    console().print(shown)


def _outcome(row: dict[str, Any]) -> str:
    """Return the outcome, with the source of a model that is not that of the run's end, and the
    verdict on a host that did not keep up."""
    words = [row["outcome"]]
    if row["model"] in ("checkpoint", "recovered"):
        words.append(f"model: {row['model']}")
    if row[_KEPT_UP] is False:
        words.append("host too slow")
    return ", ".join(words)


def _score(row: dict[str, Any]) -> str:
    """Return the last accuracy, or the last mean absolute error of a regression."""
    if _ERROR in row:
        return f"error {row[_ERROR]:.4g}"
    return _or_dash(row["final_accuracy"], "{:.2%}")


def _size(value: int | None) -> str:
    from ..watching.progress import amount

    return "-" if value is None else amount(value)


def _when(stamp: str) -> str:
    """Return `stamp`, for example 20261121T105633Z, as date and time: 2026-11-21 10:56."""
    if len(stamp) != len("20261121T105633Z"):
        return stamp
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}"


def _or_dash(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value)
