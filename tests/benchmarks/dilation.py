"""Forty devices that want four times the cores of this host: in real time, dilated, and virtual.

    python -m tests.benchmarks.dilation

Plays six emulated seconds at a dilation of 1 and at the one that `emulate check` names, and prints
the updates in an emulated second beside those of virtual time. Takes about two minutes on a host
that does nothing else; needs the engine, the image and the data.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCENARIO = """
name: forty
training: {dataset: mnist, model: mnist-lenet, algorithm: adacomp, batch_size: 64}
evaluate: {every: 10000}
stop: {time: 6s}
virtual: {tcp: false}
devices:
  - {name: home, count: 40, profile: {cpu: 20%}, link: {up: {delay: 20ms}, down: {delay: 20ms}}}
"""
EMULATE = Path(sys.executable).with_name("emulate")


def play(folder: Path, *options: str) -> dict[str, Any]:
    """Return the summary of a run of the scenario with `options` of `emulate run`."""
    file = folder / "forty.yaml"
    file.write_text(SCENARIO)
    words = [EMULATE, "run", file, "--json", "--no-report", *options]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def main() -> None:
    """Print a line for each of the three runs."""
    runs = {
        "real time": ["--set", "time.dilation=1"],
        "dilated": ["--set", "time.dilation=auto"],
        "virtual time": ["--on", "virtual", "--set", "virtual.learner=none"],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, options in runs.items():
            summary = play(Path(folder), *options)
            rate, fidelity = summary["updates"] / summary["duration_s"], summary["fidelity"]
            kept = "kept up" if fidelity["kept_up"] else f"marked: {fidelity['reasons']}"
            dilation = fidelity.get("dilation", "-")
            print(f"{name:<14} dilation {dilation:<5} {rate:7.1f} updates/s  {kept}", flush=True)


if __name__ == "__main__":
    main()
