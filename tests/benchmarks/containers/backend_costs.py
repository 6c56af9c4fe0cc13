"""Processor time of the quickstart by who delays its packets: the box, or the receiver.

    python -m tests.benchmarks.containers.backend_costs

Plays the quickstart, with whole models pulled, for 90 s with each of the two backends, and prints
the cores in use between the 20th and the 85th second. Takes four minutes on a host that does
nothing else; needs the engine, the image and the data.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.containers.container_costs import ContainerCosts
from tests.layers import ROOT

BEGIN, END = 20.0, 85.0
"""Emulated seconds between which the cores are counted."""
EMULATE = Path(sys.executable).with_name("emulate")


def show(shaping: str, folder: Path) -> None:
    """Play the quickstart in `folder` with the backend `shaping`, and print a line."""
    costs = ContainerCosts()
    costs.start()
    options = ["--json", "--no-report", "--shaping", shaping, "--set", "stop={time: 90s}"]
    options += ["--set", "training.pull.kind=dense"]  # the box has most to do with whole models
    command = [str(EMULATE), "run", str(ROOT / "scenarios" / "quickstart.yaml"), *options]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    costs.end()
    summary = json.loads(done.stdout)
    run = folder / summary["run"]
    log = [json.loads(line) for line in (run / "run.jsonl").read_text().splitlines()]
    zero = next(each["zero"] for each in log if each["what"] == "start")
    updates = sum(each["what"] == "update" and BEGIN <= each["at"] < END for each in log)
    used = costs.between(zero + BEGIN, zero + END)
    cores = ", ".join(f"{role} {value:.2f}" for role, value in sorted(used.items()))
    busy = summary["fidelity"]["host_busy_mean"]
    print(f"{shaping}: {updates / (END - BEGIN):.1f} updates/s, host {busy:.0%} busy; {cores}")


def main() -> None:
    """Print a line for each backend."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as name:
        for shaping in ("packets", "receiver"):
            show(shaping, Path(name))


if __name__ == "__main__":
    main()
