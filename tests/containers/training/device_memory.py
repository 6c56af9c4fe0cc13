"""Private memory of devices in containers, beside that of `emulate model`.

    python -m tests.containers.training.device_memory scenarios/own/models.py:cnn 10 64

plays two devices with each size of mini-batches in a temporary folder. Needs an engine.
"""

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from emulator.costs.calibration.worker_memory import private_peak
from emulator.runtimes.docker.engine import client as engine
from tests.layers import ROOT

OWN = ROOT / "scenarios" / "own"
EMULATE = Path(sys.executable).with_name("emulate")
SCENARIO = """
name: memory
training: {{dataset: {data}, model: {model}, algorithm: {algorithm}, learning_rate: 0.01,
  batch_size: {batch_size}}}
stop: {{updates: 120}}
evaluate: {{every: 1000}}
devices:
  - {{name: one}}
  - {{name: two}}
"""


class MemoryWatch(threading.Thread):
    """Reads the peaks of the private memory of all processes of devices until it is left."""

    def __init__(self, client, runs, devices):
        super().__init__(daemon=True)
        self.client, self.runs, self.devices = client, runs, devices
        self.peaks = {}
        self._over = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self.join(5)

    @property
    def sums(self):
        """The bytes of each device, its worker and its supervisor together."""
        return {name: sum(self.peaks[name].values()) for name in self.peaks}

    def run(self):
        while not self._over.wait(0.3):
            for name in self.devices:
                try:
                    run = json.loads((self.runs / "latest" / "manifest.json").read_text())["id"]
                    top = self.client.api.top(f"emulate-{run}-{name}")
                    pids = [int(row[top["Titles"].index("PID")]) for row in top["Processes"]]
                    new = {pid: private_peak(pid) for pid in pids}
                except Exception:  # the container is not up yet, or has ended
                    continue
                known = self.peaks.setdefault(name, {})
                known |= {pid: max(peak, known.get(pid, 0)) for pid, peak in new.items()}


def main(model, *sizes):
    client = engine.connect()
    data = f"{OWN}/made_up.py:{'texts' if model.endswith(':text') else 'images'}"
    for size in sizes:
        said = subprocess.run(
            [EMULATE, "model", model, "--batch-size", size, "--json"],
            capture_output=True,
            check=True,
        ).stdout
        expected = json.loads(said)["memory"]
        expected = {
            "asgd": expected["bytes"],
            "adacomp-ef": expected["bytes"] + expected["codec"] + expected["feedback"],
        }
        for algorithm, said in expected.items():
            with tempfile.TemporaryDirectory() as folder:
                facts = {"data": data, "model": Path(model).resolve(), "batch_size": size}
                text = SCENARIO.format(**facts, algorithm=algorithm)
                (Path(folder) / "memory.yaml").write_text(text)
                with MemoryWatch(client, Path(folder, "runs", "memory"), ["one", "two"]) as watch:
                    subprocess.run(
                        [EMULATE, "run", "memory.yaml", "--no-report"],
                        cwd=folder,
                        capture_output=True,
                        check=True,
                    )
            found = " ".join(f"{size / 1e6:.1f}" for size in watch.sums.values())
            print(
                f"{model} {size} {algorithm}: said {said / 1e6:.1f} MB, found {found}", flush=True
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
