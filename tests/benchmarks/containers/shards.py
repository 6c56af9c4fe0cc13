"""Updates per second of a server in containers, by its shards, with and without durability.

    python -m tests.benchmarks.containers.shards [--rounds N] [--seconds S] [--devices N]

The runs take turns, so that other work on the host strikes all alike; each row has the median of
its rounds. The processor's time is that of all containers of the server, from the host's records.
All containers are on this host, and share its cores.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import mean, median

import emulator
from emulator.log.lines import read
from emulator.log.records.fidelity_records import HostRecord

SCENARIO = """
name: shards
training: {{dataset: mnist, model: {model}, codec: {codec}, batch_size: 1, learning_rate: 0.01}}
stop: {{time: {seconds}s}}
evaluate: {{every: 1000000}}
devices: [{{name: a, count: {devices}}}]
"""
CASES = [(shards, durability) for durability in ("none", "update") for shards in (1, 2)]


def played(file: Path, shards: int, durability: str, runs: Path) -> tuple[float, float]:
    """Return updates per second, and the server's milliseconds of a core for an update."""
    keys = {"server.shards": shards, "server.durability": durability}
    run = emulator.run(file, on="docker", runs=runs, set=keys)
    updates, seconds = run.summary["updates"], run.summary["duration_s"]
    used = [
        cores
        for record in read(run.folder / "run.jsonl")
        if isinstance(record, HostRecord)
        for cores in record.server or ()
    ]
    return updates / seconds, 1000 * mean(used) * seconds / updates


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--devices", type=int, default=6)
    parser.add_argument("--model", default="mnist-resnet")
    parser.add_argument("--codec", default="dense")
    given = parser.parse_args()
    found: dict[tuple[int, str], list[tuple[float, float]]] = {case: [] for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shards.yaml"
        file.write_text(SCENARIO.format(**vars(given)))
        for _ in range(given.rounds):
            for case in CASES:
                found[case].append(played(file, *case, Path(folder) / "runs"))
    print(f"{'shards':>6}  {'durability':<10}  {'updates/s':>9}  {'server, ms of a core':>20}")
    for (shards, durability), rounds in found.items():
        rate, work = (median(column) for column in zip(*rounds, strict=True))
        print(f"{shards:>6}  {durability:<10}  {rate:>9.1f}  {work:>20.2f}")


if __name__ == "__main__":
    main()
