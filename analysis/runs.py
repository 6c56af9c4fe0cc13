"""A run's folder, read into frames: all that the analysis ever knows of a run.

A run may have been cut short. What is missing or broken off is named in `Run.notes`, and
the rest is read: a report on half a run is worth having, a guess at the other half is not.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

COLUMNS: dict[str, tuple[str, ...]] = {
    "hello": ("at", "node", "incarnation"),
    "start": ("at", "devices", "zero"),
    "pull": ("at", "node", "version", "bytes"),
    "update": (
        *("at", "node", "version", "updates", "staleness", "divisor", "loss", "compute"),
        *("entries", "values", "indices", "headers", "framing"),
    ),
    "diverged": ("at", "node", "version"),
    "refused": ("at", "node", "reason"),
    "evaluation": ("at", "version", "updates", "accuracy", "loss", "push_bytes"),
    "traffic": ("at", "node", "rx", "tx"),
    "kill": ("at", "node", "fault", "planned"),
    "boot": ("at", "node", "fault", "planned"),
    "sever": ("at", "node", "fault", "planned"),
    "mend": ("at", "node", "fault", "planned"),
    "checkpoint": ("at", "version"),
    "exit": ("at", "node", "code", "reason"),
    "stop": ("at", "reason", "detail"),
}
"""The columns that a frame of records has at least, also when there is no such record."""

TIMELINE = ("at", "verb", "node", "fault")


class RunError(Exception):
    """This folder cannot be read as a run; the message says what was found and expected."""


@dataclass(frozen=True, eq=False)
class Run:
    """What one run's folder holds; nothing in it is computed."""

    folder: Path
    scenario: dict[str, Any] = field(default_factory=dict)
    """As resolved by the run; empty if the file is missing."""
    manifest: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    """Empty if the run never got to write it."""
    timeline: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(TIMELINE)))
    """The compiled schedule: `at`, `verb`, `node`, `fault`."""
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What is missing or broken off, in words for the reader."""

    def records(self, what: str) -> pd.DataFrame:
        """All records of one kind in their order; empty, with its columns, if there are none."""
        return self.frames.get(what, pd.DataFrame(columns=list(COLUMNS.get(what, ("at",)))))

    @property
    def name(self) -> str:
        return str(self.summary.get("scenario") or self.scenario.get("name") or self.folder.name)

    @property
    def outcome(self) -> str:
        """`success`, `stopped`, `canceled` or `failed`; `unfinished` if no summary says."""
        return str(self.summary.get("outcome", "unfinished"))

    @property
    def end(self) -> float:
        """Emulated seconds at which the run stopped, as far as its records tell."""
        stop = self.records("stop")
        if not stop.empty:
            return float(stop["at"].iloc[-1])
        latest = [frame["at"].max() for frame in self.frames.values() if not frame.empty]
        return float(self.summary.get("duration_s") or max(latest, default=0.0))


def read(folder: Path | str) -> Run:
    """Read a run's folder; a RunError if there is no run in it, or a file in it is damaged."""
    folder = Path(folder)
    if not any((folder / name).is_file() for name in ("run.jsonl", "summary.json")):
        raise RunError(
            f"{folder}: not a run's folder: it has neither run.jsonl nor summary.json; "
            "name one such as runs/quickstart/latest"
        )
    notes: list[str] = []
    return Run(
        folder=folder.resolve(),
        scenario=_yaml(folder / "scenario.yaml", notes),
        manifest=_json(folder / "manifest.json", notes),
        summary=_json(folder / "summary.json", notes),
        timeline=_frame(_lines(folder / "timeline.jsonl", notes), TIMELINE),
        frames=_by_kind(_lines(folder / "run.jsonl", notes)),
        notes=tuple(notes),
    )


def _json(path: Path, notes: list[str]) -> dict[str, Any]:
    if not path.is_file():
        notes.append(f"{path.name} is missing{_REASONS.get(path.name, '')}")
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path}: not JSON: {error}") from error
    return _mapping(path, content)


def _yaml(path: Path, notes: list[str]) -> dict[str, Any]:
    if not path.is_file():
        notes.append(f"{path.name} is missing{_REASONS.get(path.name, '')}")
        return {}
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise RunError(f"{path}: not YAML: {error}") from error
    return _mapping(path, content)


_REASONS = {
    "summary.json": ": the run is still going or was killed, so what its records tell is shown",
    "scenario.yaml": ": links and profiles of the devices are unknown",
    "run.jsonl": ": nothing that happened was recorded",
}


def _mapping(path: Path, content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise RunError(f"{path}: a {type(content).__name__} where a mapping was expected")
    return content


def _lines(path: Path, notes: list[str]) -> list[dict[str, Any]]:
    """The records of a JSON-lines file; a last line that broke off is left out, and noted."""
    if not path.is_file():
        notes.append(f"{path.name} is missing{_REASONS.get(path.name, '')}")
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    records = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            if number == len(lines):  # the newline comes last, so only this one can be half
                notes.append(f"{path.name} breaks off in its last line, which is left out")
                break
            raise RunError(f"{path}:{number}: not a line of JSON: {error}") from error
        records.append(_mapping(Path(f"{path}:{number}"), record))
    return records


def _by_kind(records: list[dict[str, Any]]) -> dict[str, pd.DataFrame]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        kinds.setdefault(str(record.get("what")), []).append(record)
    return {what: _frame(rows, COLUMNS.get(what, ("at",))) for what, rows in kinds.items()}


def _frame(rows: list[dict[str, Any]], known: tuple[str, ...]) -> pd.DataFrame:
    extra = dict.fromkeys(key for row in rows for key in row if key not in (*known, "what"))
    return pd.DataFrame(rows, columns=[*known, *extra])
