"""Runs of the past: times and versions of seven runs in virtual time, and the means to compare.

A recording has no gradient and no accuracy, since another processor rounds them otherwise; times
are rounded to microseconds. `python -m tests.runtimes.virtual.recorded` records the runs anew, and
says which have changed; docs/changes.md must then say why.
"""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

from emulator.costs.computing_times import needs_layers
from emulator.learning.models import MODELS
from emulator.scenario import loads
from tests.containers.kinds.fleet import FLEET
from tests.cover import LIBRARY, dealt_fleets, link_fleet
from tests.fakes.plain_records import PlainRecord
from tests.fakes.virtual_world import played

FOLDER = Path(__file__).parent
RUNS = tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))
EVERY_PART = "every-part"
"""The recording with a digest alone of each fleet to which parts, presets or profiles are dealt."""
_TRAFFIC = (
    *("virtual.learner=none", "virtual.step={exponential: 10ms}"),
    *("virtual.boot=200ms", "virtual.serve=1ms"),
)
_BYTES = ("values", "indices", "headers", "framing")
"""Keys of an update's record with bytes: a packet more or less tells codings apart too seldom."""
_SELDOM = ("virtual.step=5min",)
"""Of devices on which a fault strikes once in some hours."""
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


def recording_of_parts(runs: Path) -> dict[str, Any]:
    """Play each dealt fleet, presets and profiles in the folder `runs`; return the digests."""
    digests = {
        name: _digest(runs, dealt_fleets.scenario(name), "devices[0].link=3g")
        for name in dealt_fleets.TRAININGS
    }
    for key, more in {"link": (), "profile": (), "failures": _SELDOM}.items():
        text = dealt_fleets.each(LIBRARY[key], key, 3 * 3600 if more else 20)
        digests[key] = _digest(runs, text, *more)
    for name, content in link_fleet.FILES.items():
        (runs / name).write_text(content)
    digests |= {"keys of links": _digest(runs, link_fleet.TEXT), "kinds": _digest(runs, FLEET)}
    return {"digest": sha256(json.dumps(digests).encode()).hexdigest(), "runs": digests}


def _digest(runs: Path, text: str, *more: str) -> str:
    given = (*_TRAFFIC, *more, *_layers(text, runs))
    _, summary, view = played(runs, *given, text=text, files=runs)
    assert summary["outcome"] == "success"
    lines = (f"{_line(each)} {[each.get(part) for part in _BYTES]}" for each in view.records)
    return sha256("\n".join(lines).encode()).hexdigest()


def _layers(text: str, files: Path) -> tuple[str, ...]:
    """Return layers' shares of a step, if the scenario `text` needs them: else this host's are
    measured, and its schedules cut the model elsewhere than another host's."""
    world = loads(text, (), files)
    if not needs_layers(world):
        return ()
    layers = range(1, 1 + len(MODELS[world.training.trainable].layout.layers))
    shares = {"forward": [*layers], "backward": [2 * layer for layer in layers]}
    return (f"virtual.layers={json.dumps(shares)}",)


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
