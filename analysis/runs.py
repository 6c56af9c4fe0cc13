"""A run's folder, read into frames: all that the analysis ever knows of a run.

A run may have been cut short. What is missing or broken off is named in `Run.notes`, and
the rest is read: a report on half a run is worth having, a guess at the other half is not.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from .errors import RunError
from .records import by_kind, frame, mapping
from .shapes import MANIFEST, POINT, SCENARIO, SUMMARY, Shape, check

COLUMNS: dict[str, tuple[str, ...]] = {
    "hello": ("at", "node", "incarnation"),
    "start": ("at", "devices", "zero"),
    "pull": ("at", "node", "version", "bytes"),
    "update": (
        *("at", "node", "version", "updates", "staleness", "divisor", "loss", "compute"),
        *("entries", "values", "indices", "headers", "framing"),
    ),
    "diverged": ("at", "node", "version"),
    "refused": ("at", "node", "reason", "count"),
    "unsent": ("at", "node", "message", "bytes"),
    "evaluation": ("at", "version", "updates", "accuracy", "loss", "push_bytes", "scored"),
    "unmeasured": ("at", "versions"),
    "traffic": ("at", "node", "rx", "tx"),
    "checkpoint": ("at", "version"),
    "exit": ("at", "node", "code", "cause", "reason"),
    "stop": ("at", "reason", "detail"),
}
"""The columns that a frame of records has at least, also when there is no such record."""

FAULT = ("at", "node", "fault", "begins", "planned")
"""The columns of every kind of record that says of a fault that it began or ended."""

BOOT = "boot"
"""The kind of record of a device that boots: it ends an unasked `exit`, too."""

TIMELINE = ("at", "verb", "node", "fault", "begins")


@dataclass(frozen=True, eq=False)
class Run:
    """The content of one run's folder, and the facts that have been computed from it."""

    folder: Path
    scenario: dict[str, Any] = field(default_factory=dict)
    """As resolved by the run; empty if the file is missing."""
    manifest: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    """Empty if the run never got to write it."""
    timeline: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(TIMELINE)))
    """The compiled schedule: `at`, `verb`, `node`, `fault`, `begins`."""
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    point: str = ""
    """The values that set it apart, as `PATH=VALUE,…`, if it is a sweep's point."""
    notes: tuple[str, ...] = ()
    """What is missing or broken off, in words for the reader."""
    known: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)
    """Facts that `facts.fact` has computed of this run, by their functions."""

    def records(self, what: str) -> pd.DataFrame:
        """All records of one kind in their order; empty, with its columns, if there are none."""
        return self.frames.get(what, pd.DataFrame(columns=list(COLUMNS.get(what, ("at",)))))

    @cached_property
    def faults(self) -> pd.DataFrame:
        """Return the beginnings and ends of faults, in no order: `what` and the columns `FAULT`."""
        columns = ["what", *FAULT]
        frames = [
            frame.assign(what=what).reindex(columns=columns).astype(object)
            for what, frame in self.frames.items()
            if "begins" in frame
        ]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    @cached_property
    def faults_begun(self) -> int:
        """Return how many faults began."""
        return int(self.faults["begins"].eq(True).sum())

    @cached_property
    def refused(self) -> int:
        """How many messages were refused; a record may stand for several."""
        return int(pd.to_numeric(self.records("refused")["count"]).fillna(1).sum())

    @property
    def name(self) -> str:
        return str(self.summary.get("scenario") or self.scenario.get("name") or self.folder.name)

    @property
    def runtime(self) -> str:
        """`docker`, `virtual`; empty if nothing says."""
        return str(self.summary.get("runtime") or self.manifest.get("runtime") or "")

    @property
    def virtual(self) -> bool:
        """Whether it was played in virtual time, where no host has to keep up."""
        return self.runtime == "virtual"

    @property
    def outcome(self) -> str:
        """`success`, `stopped`, `canceled` or `failed`; `unfinished` if no summary says."""
        return str(self.summary.get("outcome", "unfinished"))

    @cached_property
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
        scenario=_yaml(folder / "scenario.yaml", SCENARIO, notes),
        manifest=_json(folder / "manifest.json", MANIFEST, notes),
        summary=_json(folder / "summary.json", SUMMARY, notes),
        timeline=_schedule(folder / "timeline.jsonl", notes),
        frames=_records(folder / "run.jsonl", notes),
        point=str(_json(folder / "point.json", POINT, []).get("label") or ""),
        notes=tuple(notes),
    )


def _json(path: Path, shape: Shape, notes: list[str]) -> dict[str, Any]:
    return _read(path, shape, notes, json.loads)


def _yaml(path: Path, shape: Shape, notes: list[str]) -> dict[str, Any]:
    return _read(path, shape, notes, yaml.safe_load)


def _read(
    path: Path, shape: Shape, notes: list[str], parse: Callable[[str], Any]
) -> dict[str, Any]:
    if not _there(path, notes):
        return {}
    try:
        content = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())  # YAML's take several lines
        raise RunError(f"{path}: not {path.suffix[1:].upper()}: {reason}") from error
    checked = mapping(path, content)
    check(path, checked, shape)
    return checked


_REASONS = {
    "summary.json": ": the run is still going or was killed, so what its records tell is shown",
    "scenario.yaml": ": links and profiles of the devices are unknown",
    "run.jsonl": ": nothing that happened was recorded",
}


def _records(path: Path, notes: list[str]) -> dict[str, pd.DataFrame]:
    return by_kind(path, COLUMNS, notes) if _there(path, notes) else {}


def _schedule(path: Path, notes: list[str]) -> pd.DataFrame:
    return (
        frame(path, TIMELINE, notes) if _there(path, notes) else pd.DataFrame(columns=[*TIMELINE])
    )


def _there(path: Path, notes: list[str]) -> bool:
    found = path.is_file()
    if not found:
        notes.append(f"{path.name} is missing{_REASONS.get(path.name, '')}")
    return found
