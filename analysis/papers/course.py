"""The course of a run: its scores and summed costs in some hundred numbers, kept beside the study.

Reading a run of 60,000 updates takes seconds. Its course is written to `measures.json` in the
folder of the study, so that tables and figures are made again at once.
"""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..facts import message_bytes
from ..facts.message_bytes import KINDS, evaluations_with_bytes, parameters, weights
from ..pictures.picture_file import whole_file
from ..reading.runs import Run, read
from .folder import Study

KEPT = "measures.json"
"""File of the courses in the folder of a study."""

PLACES = 120
"""Number of steps in which a run's updates are summed: 120 has most small numbers as divisors."""

BYTE_MODELS: Mapping[str, str] = {
    "sent": "as sent: values, indices, headers and framing",
    "value only": "f32 value, index not counted",
    "value + u16": "f32 value + u16 index in blocks of 65,536",
    "value + u32": "f32 value + u32 index (COO)",
    "value + int64": "f32 value + int64 index (IndexedSlices)",
}
"""Names of the byte models in a run's report, by their short names."""

EXAMPLES: Mapping[str, int] = {
    "mnist": 60_000,
    "fashion-mnist": 60_000,
    "digits": 1437,
    "shapes": 10_000,
    "sentences": 20_000,
}
"""Number of training examples of the data sets with a fixed split."""

Column = Sequence[float]


@dataclass(frozen=True)
class Course:
    """The numbers of a run from which every measure and curve of a study is made."""

    evaluations: Mapping[str, Column]
    """For each evaluation `updates`, `at` (s), `accuracy`, `loss`, `error`, and the bytes before
    it: `pushed`, `pulled`, `both`, and those pushed under each of `BYTE_MODELS`."""
    progress: Mapping[str, Column]
    """Sums over the updates up to each of `PLACES` places, from 0 on: `updates`, `at` (s, no sum),
    `pushed`, `staleness`, `divisor`, and the bytes that the codec's paper counts, by kind of layer
    as `paper KIND`."""
    facts: Mapping[str, float]
    """`pulled`, `both`, `crashes`, `diverged`, `epoch` (updates), and the bytes of a dense update:
    `dense` and, by kind of layer, `dense KIND`. Of a run in containers also `kept up`, `busy` (a
    share of the host's cores) and `late` (s)."""
    step: str = ""
    """Law of the time of a step in virtual time."""
    measured: Mapping[str, Column] = field(default_factory=dict)
    """Means over the devices at each measured update: `updates` of the server by then, `at` (s),
    and for each variable `sent VARIABLE` (entries) and `residue VARIABLE` (root mean square)."""
    host: str = ""
    """Why the host did not keep up with the containers; empty if it did, and in virtual time."""


def course(run: Run) -> Course:
    """Return the course of `run`."""
    step, host = ("", _host(run)) if _in_containers(run) else (_step(run), "")
    return Course(_evaluations(run), _progress(run), _facts(run), step, _measured(run), host)


def _scored(run: Run) -> pd.DataFrame:
    """Return the evaluations of `run` with their bytes; an accuracy that is not a number is 0."""
    evaluations = evaluations_with_bytes(run).drop_duplicates("updates")
    return evaluations.astype({"accuracy": float}).fillna({"accuracy": 0.0})


def _evaluations(run: Run) -> dict[str, Column]:
    scored = _scored(run)
    updates = run.records("update")
    counts = scored["updates"].astype(int).to_numpy()
    columns = {key: scored[key].astype(float) for key in ("updates", "at", "accuracy")}
    columns |= {key: scored[key].astype(float) for key in ("loss", "error")}
    size = parameters(run)
    models = [weights(updates.iloc[:count], size) for count in counts]
    bytes_pushed = {short: [m[name] for m in models] for short, name in BYTE_MODELS.items()}
    pushed = np.array(bytes_pushed["sent"], float)
    pulled = scored["pull_bytes"].to_numpy(float)
    sums = {"pushed": pushed, "pulled": pulled, "both": pushed + pulled, **bytes_pushed}
    return {key: list(map(float, column)) for key, column in {**columns, **sums}.items()}


def _progress(run: Run) -> dict[str, Column]:
    updates = run.records("update")
    if updates.empty:
        return {}
    places = np.round(np.linspace(0, len(updates), PLACES + 1)).astype(int)
    columns: dict[str, Any] = {
        "pushed": updates[list(KINDS)].sum(axis=1),
        "staleness": updates["staleness"],
        "divisor": updates["divisor"],
    }
    if "paper" in updates:
        kinds = {kind for paper in updates["paper"] if isinstance(paper, dict) for kind in paper}
        for kind in sorted(kinds):
            columns[f"paper {kind}"] = [_counted(paper, kind) for paper in updates["paper"]]
    at = np.concatenate([[0.0], updates["at"].to_numpy(float)])
    found = {"updates": places.astype(float), "at": at[places]}
    for key, column in columns.items():
        sums = np.concatenate([[0.0], np.asarray(column, float).cumsum()])
        found[key] = sums[places]
    return {key: list(map(float, column)) for key, column in found.items()}


def _counted(paper: Any, kind: str) -> float:
    return float(paper.get(kind, math.nan)) if isinstance(paper, dict) else math.nan


def _measured(run: Run) -> dict[str, Column]:
    """Return the columns of the records `compression`: an entry for each measured update.

    An entry is the mean over the devices. A device that crashed counts its updates from its boot.
    """
    records, updates = run.records("compression"), run.records("update")
    if records.empty or updates.empty:
        return {}
    times = updates["at"].to_numpy(float)
    found: dict[str, list[float]] = {"updates": [], "at": []}
    for _, joint in records.groupby("updates"):
        at = float(joint["at"].mean())
        found["at"].append(at)
        found["updates"].append(float(np.searchsorted(times, at, side="right")))
        for key, mean in (("sent", _mean), ("residue", _root_mean_square)):
            for variable in dict.fromkeys(name for held in joint[key] for name in held):
                values = [held[variable] for held in joint[key] if variable in held]
                found.setdefault(f"{key} {variable}", []).append(mean(values))
    return dict(found)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _root_mean_square(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _facts(run: Run) -> dict[str, float]:
    count = len(run.records("update"))
    stops = run.records("stop")
    facts = {
        "pulled": float(message_bytes.pulled_bytes(run)),
        "both": float(message_bytes.both_bytes(run)),
        "crashes": float(len(run.records("kill"))),
        "diverged": float(bool((stops["reason"] == "diverged").any())),
        "epoch": _epoch(run),
    }
    if count and run.summary.get("dense_push_bytes"):
        facts["dense"] = run.summary["dense_push_bytes"] / count
    counts = run.summary.get("paper_push_bytes") or {}
    for kind, counted in counts.items():
        if count:
            facts[f"dense {kind}"] = counted["bytes"] * counted["ratio"] / count
    return {**facts, **_load(run)} if _in_containers(run) else facts


def _in_containers(run: Run) -> bool:
    return run.summary.get("runtime") == "docker"


def _load(run: Run) -> dict[str, float]:
    """Return what the host had to do beside the containers of `run`, as far as it is known."""
    found, late = run.fidelity, run.fidelity.get("shaping", {}).get("p99")
    known = {"kept up": found.get("kept_up"), "busy": found.get("host_busy_mean"), "late": late}
    return {key: float(value) for key, value in known.items() if value is not None}


def _host(run: Run) -> str:
    return "; ".join(map(str, run.fidelity.get("reasons") or []))


def _epoch(run: Run) -> float:
    """Return the updates of an epoch, or NaN if the number of examples is unknown."""
    batch, data = run.training.get("batch_size"), run.training.get("dataset")
    known = isinstance(batch, int) and isinstance(data, str) and data in EXAMPLES
    return EXAMPLES[str(data)] / int(batch) if known else math.nan  # type: ignore[arg-type]


def _step(run: Run) -> str:
    """Return the laws of a step's time and of a wait before the step as text: `exponential, 1s`."""
    section, faults = run.scenario.get("virtual"), run.scenario.get("faults")
    step = section.get("step") if isinstance(section, dict) else None
    waits = [
        fault["delay"]
        for fault in (faults if isinstance(faults, list) else [])
        if isinstance(fault, dict) and fault.get("kind") == "straggler" and fault.get("delay")
    ]
    laws = [_law(step)] if step else []
    return " after a wait: ".join([*laws, *map(_law, waits[:1])])


def _law(law: object) -> str:
    if not isinstance(law, dict):
        return f"{law}, constant"
    return "; ".join(f"{name}, {time}" for name, time in law.items())


# -- courses of a study, kept in a file ------------------------------------------------------------


def courses(study: Study) -> dict[Path, Course]:
    """Return the course of every run of `study`, by its folder.

    Courses are taken from `measures.json` where the run is the same as when it was read.
    """
    file = study.folder / KEPT
    kept = _kept(file)
    folders = dict.fromkeys(run for row in (*study.rows, *study.tried) for run in row.runs)
    found, content = {}, {}
    for folder in folders:
        name, stamp = _name(folder, study.folder), _stamp(folder)
        held = kept.get(name, {})
        same = held.get("stamp") == stamp
        found[folder] = Course(**held["course"]) if same else course(read(folder))
        content[name] = held if same else {"stamp": stamp, "course": asdict(found[folder])}
    if any(content[name] is not kept.get(name) for name in content):
        _keep(file, content)
    return found


def _keep(file: Path, content: Mapping[str, Any]) -> None:
    """Write the courses; a folder that cannot be written stays as it is."""
    with suppress(OSError), whole_file(file) as sink:
        sink.write(json.dumps({"code": _code(), "runs": content}).encode())


def _name(run: Path, study: Path) -> str:
    return str(run.relative_to(study)) if run.is_relative_to(study) else str(run)


def _kept(file: Path) -> dict[str, Any]:
    """Return the courses in `file` by run, or {} if other code wrote it, or none."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    same = isinstance(content, dict) and content.get("code") == _code()
    return dict(content["runs"]) if same else {}


def _code() -> str:
    """Return a digest of the code that makes a course."""
    files = (Path(__file__), Path(message_bytes.__file__))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _stamp(run: Path) -> str:
    """Return what changes with the records of `run`: its point's note, and its log's size and time.

    The log itself has tens of megabytes.
    """
    note, log = run / "point.json", run / "run.jsonl"
    digest = sha256(note.read_bytes()).hexdigest()[:16] if note.is_file() else ""
    stat = log.stat() if log.is_file() else None
    return f"{digest} {stat.st_size} {stat.st_mtime_ns}" if stat else digest
