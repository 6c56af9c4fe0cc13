"""A run's folder as a run would have written it, in no time: for tests, and to look at figures.

    python -m tests.fakes.runs.synthetic_run FOLDER [--devices 40] [--updates 3000] [--seed 7]

Devices pull, compute and push in a loop at the speed of their links; two of them meet a
fault. Nothing is learned: accuracy follows a curve.
"""

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import yaml

from tests.fakes.runs.handmade_run import due
from tests.fakes.runs.synthetic_world import LINKS, SHARED, World


@dataclass
class Synthetic:
    """What to make up. `faults` are (fault, node, at, lasts); `lasts` None: for good."""

    devices: int = 8
    updates: int = 3000
    seed: int = 7
    algorithm: str = "adacomp"
    outcome: str = "success"
    reasons: list[str] = field(default_factory=list)
    """Why the host did not keep up."""
    faults: list[tuple[str, str, float, float | None]] = field(
        default_factory=lambda: [
            ("crash", "fiber-1", 60.0, 20.0),
            ("partition", "adsl-0", 110.0, 15.0),
        ]
    )

    def write(self, folder: Path) -> Path:
        """Write the folder and return it."""
        folder.mkdir(parents=True, exist_ok=True)
        world = World(self)
        world.play()
        records = sorted(world.records, key=lambda record: record["at"])
        _lines(folder / "run.jsonl", records)
        _lines(folder / "timeline.jsonl", self.timeline())
        (folder / "scenario.yaml").write_text(yaml.safe_dump(self._scenario(), sort_keys=False))
        (folder / "manifest.json").write_text(json.dumps(self._manifest()))
        (folder / "summary.json").write_text(json.dumps(world.summary(records)))
        return folder

    def names(self) -> list[str]:
        half = (self.devices + 1) // 2
        fiber = [f"fiber-{number}" for number in range(half)]
        return fiber + [f"adsl-{number}" for number in range(self.devices - half)]

    def behind(self) -> list[str]:
        """The members of the bottleneck `cabinet`."""
        return [name for name in self.names() if name.startswith("adsl")]

    def _scenario(self) -> dict:
        cabinet = {"name": "cabinet", **SHARED, "members": ["adsl-*"]}
        return {
            "name": "synthetic",
            "seed": self.seed,
            "training": {
                "dataset": "mnist",
                "model": "mnist-cnn",
                "split": "iid",
                "batch_size": 10,
                "learning_rate": 0.1,
                "algorithm": self.algorithm,
            },
            "stop": {"updates": self.updates},
            "devices": [
                {"name": name, "profile": "laptop", "link": LINKS[name.split("-")[0]]}
                for name in self.names()
            ],
            **({"bottlenecks": [cabinet]} if self.behind() else {}),
        }

    def _manifest(self) -> dict:
        return {
            "runtime": "docker",
            "versions": {"emulate": "0.1.0", "python": "3.11"},
            "image": {"name": "emulate-node", "digest": "sha256:0"},
            "kernel": "6.18",
            "engine": "20.10",
            "host": {"name": "bench", "cores": 2, "memory": 25769803776},
            "shaping": {"rate": "htb", "delay": "receiver", "loss": "nftables"},
            "started": "2025-01-01T00:00:00Z",
            "id": "synthetic",
            "scenario": "synthetic",
            "algorithm": self.algorithm,
        }

    def timeline(self) -> list[dict]:
        rows = []
        for fault, node, at, lasts in self.faults:
            if node not in self.names():
                continue
            down, up = ("kill", "start") if fault == "crash" else ("sever", "mend")
            rows.append(due(at, down, node, fault))
            if lasts is not None:
                rows.append(due(at + lasts, up, node, fault))
        return sorted(rows, key=lambda row: row["at"])


def two_runs(runs: Path) -> Path:
    """Write two runs into the folder `runs`, one with AdaComp, then one without; return `runs`."""
    for number, algorithm in enumerate(("adacomp", "asgd"), 1):
        folder = runs / "synthetic" / f"2025010{number}T120000Z-abc12{number}"
        Synthetic(devices=2, updates=400, algorithm=algorithm, faults=[]).write(folder)
        (folder / "devices").mkdir()
        (folder / "devices" / "fiber-0.log").write_text("hello\nworld\n")
    (runs / "synthetic" / "latest").symlink_to("20250102T120000Z-abc122")
    return runs


def _lines(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--updates", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--algorithm", default="adacomp")
    options = parser.parse_args()
    spec = Synthetic(options.devices, options.updates, options.seed, options.algorithm)
    if options.devices > 12:
        rolls = Random(options.seed)
        spec.faults = [
            (rolls.choice(["crash", "partition"]), name, rolls.uniform(20, 150), 25.0)
            for name in rolls.sample(spec.names(), options.devices // 3)
        ]
    print(spec.write(options.folder))


if __name__ == "__main__":
    main()
