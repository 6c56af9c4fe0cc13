"""Record the runs of the past anew, and name those that have changed."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.runtimes.virtual.recorded import (
    EVERY_PART,
    RUNS,
    file_of,
    recorded,
    recording,
    recording_of_parts,
)

for run in (*RUNS, EVERY_PART):
    with TemporaryDirectory() as runs:
        place = Path(runs)
        made = recording_of_parts(place) if run == EVERY_PART else recording(run, place)
    if not file_of(run).exists() or made != recorded(run):
        file_of(run).write_text(json.dumps(made, indent=1) + "\n")
        print(f"{run} has changed: name {made['digest'][:12]} in docs/changes.md, with the reason")
