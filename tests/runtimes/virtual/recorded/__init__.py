"""Runs of the past: times and versions of five runs in virtual time, and the means to compare.

A recording has no gradient and no accuracy, since another processor rounds them otherwise; times
are rounded to microseconds. `python -m tests.runtimes.virtual.recorded` records the runs anew, and
says which have changed; docs/changes.md must then say why.
"""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.fakes.plain_records import PlainRecord
from tests.fakes.virtual_world import played

FOLDER = Path(__file__).parent
RUNS = tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))
SPACING = 25
"""Records between two lines of a recording that are written out."""


def recording(run: str, runs: Path) -> dict[str, Any]:
    """Play `run` with its folder in `runs`; return its recording."""
    _, summary, view = played(runs, text=scenario(run))
    lines = [_line(record) for record in view.records]
    return {
        "outcome": summary["outcome"],
        "counts": dict(sorted(Counter(record["what"] for record in view.records).items())),
        "digest": sha256("\n".join(lines).encode()).hexdigest(),
        "lines": lines[::SPACING],
    }


def scenario(run: str) -> str:
    """Return the text of the scenario of `run`."""
    return (FOLDER / f"{run}.yaml").read_text()


def file_of(run: str) -> Path:
    """Return the file of the recording of `run`."""
    return FOLDER / f"{run}.json"


def recorded(run: str) -> dict[str, Any]:
    """Return the recording of `run` that is kept."""
    return json.loads(file_of(run).read_text())


def _line(record: PlainRecord) -> str:
    numbers = [f"{key} {record[key]}" for key in ("version", "staleness") if key in record]
    return " ".join([f"{record['at']:.6f}", record["what"], record.get("node", ""), *numbers])
