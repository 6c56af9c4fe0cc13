"""Record the runs of the past anew, and name those that have changed."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.runtimes.virtual.recorded import RUNS, file_of, recorded, recording

for run in RUNS:
    with TemporaryDirectory() as runs:
        made = recording(run, Path(runs))
    if not file_of(run).exists() or made != recorded(run):
        file_of(run).write_text(json.dumps(made, indent=1) + "\n")
        print(f"{run} has changed: name {made['digest'][:12]} in docs/changes.md, with the reason")
