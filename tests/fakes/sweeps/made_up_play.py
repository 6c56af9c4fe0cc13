"""Plays a sweep's point in no time, as its learning rate wants it: for tests of the sweep."""

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from emulator.errors import DataError
from emulator.runs.conductor import RunView
from emulator.scenario import Scenario
from emulator.sweeps.point_process import main
from tests.fakes.plain_records import full
from tests.fakes.runs.synthetic_run import Synthetic

DIVERGES, LACKS_DATA, CRASHES, HANGS, IS_ENDED, IS_SHOT = 10.0, 11.0, 12.0, 13.0, 14.0, 15.0
"""Learning rates with a meaning; with any other a run goes well."""


def play(scenario: Scenario, scratch: Path, view: RunView) -> Path:
    print("what libraries print")
    rate, end = scenario.training.learning_rate, scenario.stop.updates or 100
    view.progress("graphs")
    view.record(full({"at": 0.5, "what": "update", "updates": end // 2}))
    if rate == LACKS_DATA:
        raise DataError("digits is not here: run `emulate data digits`")
    if rate == CRASHES:
        raise RuntimeError("a bug of ours")
    if rate == HANGS:
        (scratch / "pid").write_text(str(os.getpid()))
        time.sleep(60)
    if rate == IS_SHOT:
        os.kill(os.getpid(), 9)
    made = Synthetic(devices=2, updates=end, seed=scenario.seed, faults=[])
    if rate in (DIVERGES, IS_ENDED):
        made = replace(made, outcome="failed" if rate == DIVERGES else "canceled")
    folder = made.write(scratch / scenario.name / "20250101T000000Z-abc123")
    summary = json.loads((folder / "summary.json").read_bytes())
    summary["stop"] = {"failed": "diverged", "success": "updates"}.get(made.outcome, made.outcome)
    (folder / "summary.json").write_text(json.dumps(summary))
    # how often a point was played
    with Path(os.environ["PLAYED"]).open("a") as played:
        played.write(f"{rate:g} {scenario.seed}\n")
    with Path(os.environ["PLAYED"]).with_name("processes").open("a") as processes:
        processes.write(f"{os.getpid()} {rate:g}\n")
    return folder


if __name__ == "__main__":
    sys.exit(main(play))
