"""Generated tables on the studies' pages have the header rows that the code writes.

The rows of a study are all played as one made-up run: only the headers are compared, which follow
from the code and from the study's entries.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.papers import made, tuned_fleets
from analysis.papers.book import NOT_YET
from analysis.papers.declaration import declared
from analysis.papers.folder import Row, Study
from analysis.papers.markdown import block
from analysis.papers.omnivore import MEASURED
from analysis.papers.results import Results
from emulator.sweeps.studies import STUDIES
from emulator.sweeps.studies.plans import SCHEDULES
from tests.benchmarks.tuning.tuned_fleets import FLEETS
from tests.fakes.runs.asynchronous_descent import asynchronous
from tests.fakes.runs.handmade_run import update, written
from tests.fakes.sweeps.tuned_results import OURS, PAPER, TRAINED
from tests.layers import ROOT

PLAYED = {
    *("chen-containers", "dynacomm-containers", "hardy-containers", "omnivore-containers"),
    *("accuracy", "adam", "byzantine", "factor", "four-algorithms", "headline", "headline-mlp"),
    *("heterogeneity", "ingress", "keep", "local-time", "local-training", "mechanism", "pulls"),
    *("rates", "reliability", "stress", "devices", "dynacomm", "omnivore"),
    "learners",
}
"""Studies whose results stand on their pages with a verdict. The blocks of the others say that they
were not played, or hold tables without a verdict."""

HEADER = re.compile(r"^(\|.*\|)\n\|---", re.MULTILINE)
PAPER_BYTES = {"conv": 10.0, "dense": 20.0}


def headers(text: str) -> list[str]:
    return HEADER.findall(text)


def on_page(page: str, command: str) -> str:
    return block(ROOT / "docs" / f"{page}.md", command) or ""


def made_up(folder: Path, world: str) -> Path:
    """Write a run of thirty updates in `world`, one of a study's, and return its folder."""
    records: list[dict[str, Any]] = []
    for number in range(1, 31):
        accuracy = 0.1 if number < 6 else 0.995
        version = {"version": number, "updates": number}
        records += [
            {"at": number, "what": "pull", "node": "a", "version": number - 1, "bytes": 1000},
            update(number + 0.1, loss=1 / number, paper=PAPER_BYTES, **version),
            {
                "at": number + 0.2,
                "what": "evaluation",
                "accuracy": accuracy,
                "loss": 0.1,
                **version,
                "push_bytes": 60 * number,
            },
        ]
    paper = {kind: {"bytes": 30 * size, "ratio": 100.0} for kind, size in PAPER_BYTES.items()}
    groups = re.match(r"g = (\d+)$", world)
    synchronization: Any = "asynchronous"
    if groups:
        synchronization = {"kind": "groups", "groups": int(groups[1])}
    written(
        folder,
        [*records, {"at": 40.0, "what": "stop", "reason": "updates"}],
        scenario={"devices": [{"name": "a"}], "training": {"synchronization": synchronization}},
        summary={"dense_push_bytes": 100_000, "paper_push_bytes": paper},
    )
    if world.startswith(MEASURED):
        kept = asynchronous(2, 0)
        np.savez(folder / "trajectory.npz", changes=kept.changes, gradients=kept.gradients)
    return folder


def plans(folder: Path) -> None:
    """Write the plans that two of the studies compute without a run."""
    parts = [1.0, 1.0, 0.0]
    worlds = [entry.world for entry in STUDIES["dynacomm"].entries]
    networks = dict.fromkeys(world for world in worlds if ", batch " in world)
    bars = [
        {
            "network": network.split(",")[0],
            "batch": network.split()[-1],
            "schedule": kind,
            "segments": [1, 2],
            "forward": parts,
            "backward": parts,
        }
        for network in networks
        for kind in SCHEDULES
    ]
    timed = [
        {"layers": 10, "method": method, "seconds": 1e-4} for method in ("fast", "paper", "ibatch")
    ]
    hardware = [{"groups": count, "formula": 0.5, "queue": 0.6} for count in range(1, 65)]
    content = {"bars": bars, "planning": timed, "hardware": hardware}
    (folder / "plans.json").write_text(json.dumps(content))


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_headers_of_a_study_are_those_of_its_page(name: str, tmp_path: Path) -> None:
    text = on_page(f"papers/{declared(name).paper}", f"emulate study {name} --docs docs")
    played = "\n**Verdict: " in text and f"**Verdict: {NOT_YET}.**" not in text
    assert played == (name in PLAYED), "a study whose results are published belongs to PLAYED"
    if not played:
        return
    plans(tmp_path)
    worlds = dict.fromkeys(entry.world for entry in STUDIES[name].entries)
    runs = {world: made_up(tmp_path / str(number), world) for number, world in enumerate(worlds)}
    entries = {(entry.world, entry.name, entry.on): entry for entry in STUDIES[name].entries}
    rows = tuple(
        Row(world, entry, held.rates[0], True, (runs[world],), on=on)
        for (world, entry, on), held in entries.items()
    )
    by_code = headers(made(Results(Study(name, rows, rows, tmp_path)), {}))
    assert by_code
    assert headers(text) == by_code


def test_headers_of_tuned_fleets_are_those_of_their_page() -> None:
    fleets = [tuned_fleets.Fleet(fleet.name, fleet.about, OURS, PAPER) for fleet in FLEETS]
    by_code = tuned_fleets.page(fleets, {fleet.name: {"rows": TRAINED} for fleet in FLEETS})
    claims, *tables = headers(on_page("tune", "make table-tune"))
    assert claims == "| claim | where | verdict | measured |"
    assert tables == headers("\n\n".join(by_code))
