"""Forty devices that want five times the cores of this host: in real time, dilated, and virtual.

    python -m tests.benchmarks.containers.dilation [DILATION]

Plays nine emulated seconds in real time, then with the dilation that `emulate check` names, or the
given one, beside virtual time, as `emulate compare --runtimes` does. Prints the updates in an
emulated second.
They are counted from each device's first update on that comes after `WARM` seconds: the first step
of a device reads TensorFlow's libraries, which virtual time leaves out. Of each run it prints the
processor time for an update, from which the cost of a packet in `costs/host_dilation.py` comes.
Takes five minutes on a host that does nothing else; needs the engine, the image and the data.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.benchmarks.containers.container_costs import ContainerCosts

SCENARIO = """
name: forty
training: {dataset: mnist, model: mnist-cnn, algorithm: adacomp, batch_size: 256}
evaluate: {every: 10000}
stop: {time: 9s}
devices:
  - name: home
    count: 40
    profile: {cpu: 20%}
    link: {up: {rate: 5mbit, delay: 20ms}, down: {rate: 50mbit, delay: 20ms}}
"""
WARM = 2.5
"""Emulated seconds that do not count."""
EMULATE = Path(sys.executable).with_name("emulate")


def emulate(folder: Path, *words: str) -> Any:
    """Return what a command prints as JSON; a run without an update has failed, and prints it."""
    command = [str(EMULATE), *words, "--json"]
    return json.loads(subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True).stdout)


def records(run: Path) -> list[dict[str, Any]]:
    """Return the log of the run in the folder `run`."""
    return [json.loads(line) for line in (run / "run.jsonl").read_text().splitlines()]


def rate(run: Path) -> float:
    """Return the sum of the devices' updates in an emulated second, each over whole iterations."""
    times: dict[str, list[float]] = defaultdict(list)
    for record in records(run):
        if record["what"] == "update" and record["at"] >= WARM:
            times[record["node"]].append(record["at"])
    known = [each for each in times.values() if len(each) > 1]
    return sum((len(each) - 1) / (each[-1] - each[0]) for each in known)


def show(name: str, run: Path, costs: ContainerCosts | None = None) -> None:
    """Print a line for the run in the folder `run`, and one for its processor time."""
    fidelity = json.loads((run / "summary.json").read_text())["fidelity"]
    dilation, kept = fidelity.get("dilation", 1.0), fidelity["kept_up"]
    words = "kept up" if kept else f"marked: {'; '.join(fidelity['reasons'])}"
    print(f"{name:<13} dilation {dilation:<5} {rate(run):6.1f} updates/s  {words}", flush=True)
    if costs is None or not rate(run):
        return
    log = records(run)
    zero = next(each["zero"] for each in log if each["what"] == "start")
    end = log[-1]["at"]
    used = costs.between(dilation * (zero + WARM), dilation * (zero + end))
    each = {role: 1e3 * dilation * cores / rate(run) for role, cores in used.items()}
    spent = ", ".join(f"{role} {value:.1f}" for role, value in sorted(each.items()))
    print(f"              ms of a core for each update: {spent}", flush=True)


def main() -> None:
    """Print the lines of the three runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dilation", nargs="?", default="auto", help="seconds of an emulated one")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "forty.yaml").write_text(SCENARIO)
        costs = ContainerCosts()
        costs.start()
        real = emulate(folder, "run", "forty.yaml", "--no-report", "--set", "time.dilation=1")
        show("real time", folder / real["run"], costs)
        dilated = "--set", f"time.dilation={asked.dilation}"
        both = emulate(folder, "compare", "--runtimes", "forty.yaml", *dilated)
        costs.end()
        show("dilated", folder / both["docker"], costs)
        show("virtual time", folder / both["virtual"])
        print(
            "a step took {step_before_s} s of a core, {step_meanwhile_s} s in between".format(
                **both
            )
        )


if __name__ == "__main__":
    main()
