"""Reading of a run's folder into frames, the only source of the analysis.

A run may have been cut short. Missing files and truncated lines are named in `Run.notes`, and the
rest is read: a report on half a run is useful, a guess at the other half is not.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import yaml

from ..errors import RunError
from .records import by_kind, frame, mapping
from .shapes import MANIFEST, MODEL, POINT, SCENARIO, SUMMARY, Shape, check

COLUMNS: dict[str, tuple[str, ...]] = {
    "hello": ("at", "node", "incarnation"),
    "goodbye": ("at", "node"),
    "overlap": ("at", "node", "fault", "verb", "lasts", "planned"),
    "battery": ("at", "node", "charge"),
    "link_change": ("at", "node", "changes", "late"),
    "start": ("at", "devices", "zero"),
    "pull": ("at", "node", "version", "bytes", "count"),
    "update": (
        *("at", "node", "version", "updates", "staleness", "divisor", "loss", "compute"),
        *("entries", "values", "indices", "headers", "framing", "group"),
    ),
    "compression": ("at", "node", "updates", "sent", "residue"),
    "activations": (
        *("at", "node", "version", "server_version", "staleness", "rows", "up", "down", "loss"),
    ),
    "diverged": ("at", "node", "version"),
    "refused": ("at", "node", "reason", "count"),
    "quarantine": ("at", "node", "until"),
    "left_out": ("at", "node", "steps", "of"),
    "unsent": ("at", "node", "message", "bytes", "segments", "count"),
    "evaluation": (
        *("at", "version", "updates", "accuracy", "loss", "error", "push_bytes", "scored"),
    ),
    "metric": ("at", "node", "values"),
    "unmeasured": ("at", "versions"),
    "traffic": ("at", "node", "rx", "tx"),
    "background": ("at", "node", "rx", "tx"),
    "lateness": ("at", "packets", "p50", "p99", "max", "cpu"),
    "plan": (
        *("at", "node", "iteration", "kind", "pull", "push"),
        *("t_forward", "t_backward", "t_iteration", "pull_setup", "push_setup"),
        *("down_rate", "up_rate", "pull_times", "forward_times", "backward_times", "push_times"),
        *("pulled", "forward", "backward", "pushed"),
    ),
    "iteration": (
        *("at", "node", "iteration", "iterations", "pull", "push"),
        *("t_forward", "t_backward", "t_iteration"),
        *("predicted_forward", "predicted_backward", "predicted_iteration"),
        *("pulled", "forward", "backward", "pushed"),
    ),
    "link": ("at", "node", "way", "lasts"),
    "host": ("at", "busy", "pressure"),
    "checkpoint": ("at", "version"),
    "recovered": ("at", "version", "lost", "zero"),
    "exit": ("at", "node", "code", "cause", "reason"),
    "stop": ("at", "reason", "detail"),
}
"""The columns that a frame of each kind of records has at least, also without records."""

FAULT = ("at", "node", "fault", "begins", "planned")
"""The columns of every kind of record for the begin or the end of a fault."""

BOOTS = {"boot": "kill", "reboot": "halt", "join": "leave"}
"""The kinds of record of a device that boots, each with the kind of record of the outage that it
ends. A boot ends an unasked `exit` too."""

TIMELINE = ("at", "verb", "node", "fault", "begins")


@dataclass(frozen=True, eq=False)
class Run:
    """The content of a run's folder, with the facts computed from it."""

    folder: Path
    scenario: dict[str, Any] = field(default_factory=dict)
    """The resolved scenario; empty if the file is missing."""
    manifest: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    """The content of summary.json; empty if the run did not write the file."""
    model: dict[str, Any] = field(default_factory=dict)
    """Origin of `model.npz`: `source`, `version` and `note`; empty if unknown."""
    timeline: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(TIMELINE)))
    """The compiled schedule: `at`, `verb`, `node`, `fault`, `begins`."""
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    point: str = ""
    """For a point of a sweep, its values as `PATH=VALUE,…`."""
    notes: tuple[str, ...] = ()
    """Missing files and truncated lines, in words for the reader."""
    known: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)
    """Facts that `facts.fact` has computed of this run, by their functions."""

    def records(self, what: str) -> pd.DataFrame:
        """Return the records of a kind in their order, as a frame with the known columns."""
        return self.frames.get(what, pd.DataFrame(columns=list(COLUMNS.get(what, ("at",)))))

    @cached_property
    def faults(self) -> pd.DataFrame:
        """Return the beginnings and ends of faults, in no order: `what` and the columns `FAULT`.

        A fault that went on after the run was resumed has begun once.
        """
        columns = ["what", *FAULT]
        frames = [
            _once(frame).assign(what=what).reindex(columns=columns).astype(object)
            for what, frame in self.frames.items()
            if "begins" in frame
        ]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    @cached_property
    def faults_left_out(self) -> bool:
        """Return whether the log has faults that an older version wrote, without `begins`."""
        return _lack_begins(self.frames)

    @cached_property
    def faults_begun(self) -> int:
        """Return how many faults began."""
        return int(self.faults["begins"].eq(True).sum())

    @cached_property
    def refused(self) -> int:
        """Number of refused messages; a record may stand for several messages."""
        return int(pd.to_numeric(self.records("refused")["count"]).fillna(1).sum())

    @property
    def training(self) -> dict[str, Any]:
        """The section `training` of the scenario; empty if it is missing."""
        training = self.scenario.get("training")
        return training if isinstance(training, dict) else {}

    @property
    def workload(self) -> bool:
        """Whether programs of others were played in place of a training."""
        return isinstance(self.scenario.get("workload"), dict)

    @property
    def fidelity(self) -> dict[str, Any]:
        """The entry `fidelity` of the summary; empty if it is missing."""
        fidelity = self.summary.get("fidelity")
        return fidelity if isinstance(fidelity, dict) else {}

    @property
    def name(self) -> str:
        return str(self.summary.get("scenario") or self.scenario.get("name") or self.folder.name)

    @property
    def runtime(self) -> str:
        """The runtime, `docker` or `virtual`; empty if unknown."""
        return str(self.summary.get("runtime") or self.manifest.get("runtime") or "")

    @property
    def virtual(self) -> bool:
        """Whether the run was played in virtual time, where no host has to keep up."""
        return self.runtime == "virtual"

    @property
    def outcome(self) -> str:
        """The outcome: `success`, `stopped`, `canceled`, `failed`, or `unfinished` if unknown."""
        return str(self.summary.get("outcome", "unfinished"))

    @cached_property
    def end(self) -> float:
        """Emulated second of the end: of the `stop` record, or else of the latest record."""
        stop = self.records("stop")
        if not stop.empty:
            return float(stop["at"].iloc[-1])
        latest = [frame["at"].max() for frame in self.frames.values() if not frame.empty]
        return float(self.summary.get("duration_s") or max(latest, default=0.0))


def read(folder: Path | str) -> Run:
    """Return the run in `folder`. Raise RunError without a run there, or with a damaged file."""
    folder = Path(folder)
    if not any((folder / name).is_file() for name in ("run.jsonl", "summary.json")):
        raise RunError(
            f"{folder}: not a run's folder: it has neither run.jsonl nor summary.json; "
            "name one such as runs/quickstart/latest"
        )
    notes: list[str] = []
    summary = _json(folder / "summary.json", SUMMARY, notes)
    return Run(
        folder=folder.resolve(),
        scenario=_yaml(folder / "scenario.yaml", SCENARIO, notes),
        manifest=_json(folder / "manifest.json", MANIFEST, notes),
        summary=summary,
        model=summary.get("model") or _origin(folder),
        timeline=_schedule(folder / "timeline.jsonl", notes),
        frames=_records(folder / "run.jsonl", notes),
        point=str(_json(folder / "point.json", POINT, []).get("label") or ""),
        notes=tuple(notes),
    )


def _origin(folder: Path) -> dict[str, Any]:
    """Return the origin of `model.npz` in the `folder` of a run without a summary."""
    if (folder / "model.json").is_file():
        return _json(folder / "model.json", MODEL, [])
    if (folder / "summary.json").is_file() or not (folder / "model.npz").is_file():
        return {}
    return {"source": "checkpoint", "note": "model.npz is the last checkpoint of an unfinished run"}


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
        reason = " ".join(str(error).split())  # an error of YAML has several lines
        raise RunError(f"{path}: not {path.suffix[1:].upper()}: {reason}") from error
    checked = mapping(path, content)
    check(path, checked, shape)
    return checked


_REASONS = {
    "summary.json": ": the run is still going or was killed, so its records are shown instead",
    "scenario.yaml": ": links and profiles of the devices are unknown",
    "run.jsonl": ": there are no records of the run",
}


def _records(path: Path, notes: list[str]) -> dict[str, pd.DataFrame]:
    frames = by_kind(path, COLUMNS, notes) if _there(path, notes) else {}
    if _lack_begins(frames):
        notes.append(f"{path.name}: an older version wrote the faults, without `begins`: left out")
    return frames


def _once(faults: pd.DataFrame) -> pd.DataFrame:
    """Return `faults` without the records of faults that began before the run was resumed."""
    return faults[faults["again"].ne(True)] if "again" in faults else faults


def _lack_begins(frames: Mapping[str, pd.DataFrame]) -> bool:
    return any(
        "fault" in frame and "begins" not in frame and what != "overlap"
        for what, frame in frames.items()
    )


def _schedule(path: Path, notes: list[str]) -> pd.DataFrame:
    return (
        frame(path, TIMELINE, notes) if _there(path, notes) else pd.DataFrame(columns=[*TIMELINE])
    )


def _there(path: Path, notes: list[str]) -> bool:
    exists = path.is_file()
    if not exists:
        notes.append(f"{path.name} is missing{_REASONS.get(path.name, '')}")
    return exists


T = TypeVar("T")


def fact(compute: Callable[[Run], T]) -> Callable[[Run], T]:
    """Decorate `compute`, a function of a run, to keep its value in the run after the first call.

    All callers get the same object and must not change it: they filter a frame into a new frame.
    """

    @wraps(compute)
    def known(run: Run) -> T:
        if compute not in run.known:
            run.known[compute] = compute(run)
        value: T = run.known[compute]
        return value

    return known
