"""Milliseconds of a core for an update: `emulate run` beside two peers, in turns, in one run.

    python -m tests.benchmarks.peers [--rounds 3] [--json]

Needs the engine, the image, the data, and the peers' environment (`make bench-peers` sees to them).
All train `mnist-cnn` on batches of 10 with two workers, pull whole models, and encrypt nothing.
Each peer trains a Keras model, as its guide does, and `bare`, the same model without Keras.
Counted are user and system time of all processes of a run, from the kernel's books, over a window
that begins after the start-up. Of `emulate run` these are the workers, the server, their
supervisors, the conductor and the engine; the evaluator is left out, since no peer has one.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from emulator.errors import EmulatorError
from emulator.learning import datasets, models
from tests.layers import ROOT

from .. import books
from ..containers import world
from ..gradient import BATCH, DATASET, MODEL

PYTHON = ROOT / ".venv-peers" / "bin" / "python"
HERE = Path(__file__).parent
WORKERS = 2
BATCHES, RATE, SEED = 600, 0.03, 1
WARM, UPDATES = 200, 1000
"""Updates of a peer before those that are measured, and their number."""
SECONDS = 15.0
"""Length of a run of our own, of which the middle 60 % count."""
OURS = ("workers", "server", "supervisors", "conductor", "engine")
"""Groups of processes that serve the updates of `emulate run`."""
REFERENCE = "emulate run, adacomp"

Cost: TypeAlias = Callable[[], float]
"""Plays one run; returns its milliseconds of a core for each update."""


def contenders(file: Path) -> dict[str, Cost]:
    """Return the runs to measure, by name; the peers read the model and the data from `file`."""
    strategy, flower = "parameter_server_strategy.py", "flower_rounds.py"
    return {
        REFERENCE: partial(own, "adacomp"),
        "emulate run, asgd": partial(own, "asgd"),
        "ParameterServerStrategy": partial(peer, strategy, "keras", file),
        "ParameterServerStrategy, bare": partial(peer, strategy, "bare", file),
        "Flower": partial(peer, flower, "keras", file),
        "Flower, bare": partial(peer, flower, "bare", file),
    }


def own(algorithm: str) -> float:
    """Play `emulate run` in containers; `adacomp` pushes 1 % of a gradient, `asgd` all of it."""
    overrides = f"training.algorithm={algorithm}", f"devices[0].count={WORKERS}"
    found = world.measure(encrypt=False, seconds=SECONDS, overrides=overrides)
    return sum(found["milliseconds_per_update"][group] for group in OURS)


def peer(program: str, style: str, file: Path) -> float:
    """Play `program` in the peers' environment, with its model in this `style`."""
    arguments = [style, file, WARM, UPDATES, WORKERS]
    return measured(program, [PYTHON, HERE / program, *map(str, arguments)])


def measured(name: str, command: Sequence[str | Path]) -> float:
    """Return the milliseconds of a core for each of `UPDATES`, between the words of `command`."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            begin, end = (_processor_time(process, word) for word in ("begin", "end"))
        except EOFError:
            errors.seek(0)
            last = errors.read().decode(errors="replace")[-2000:]
            raise EmulatorError(f"{name} ended before it was measured:\n{last}") from None
        process.communicate("\n")  # it ends, and ends the processes that it has started
    return 1e3 * (end - begin) / UPDATES


def _processor_time(process: "subprocess.Popen[str]", word: str) -> float:
    """Wait until `process` prints `word`; return the seconds of a core of it and what it started.

    Raises EOFError if it ends before.
    """
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == word:
            group = [process.pid, *books.descendants(process.pid)]
            return books.read({"run": group}).spent["run"]
    raise EOFError


def write(file: Path) -> None:
    """Write the initial model and the first mini-batches of the data for the peers to `file`."""
    model, train = models.find(MODEL), datasets.load(DATASET).train
    theta = model.initial(SEED)
    variables = [theta[part].reshape(variable.shape) for variable, part in model.layout]
    x, y = train.batch(np.arange(BATCHES * BATCH))
    np.savez(
        file,
        images=x.reshape(BATCHES, BATCH, *x.shape[1:]),
        labels=y.reshape(BATCHES, BATCH),
        rate=RATE,
        allow_pickle=False,
        **{f"variable{number}": array for number, array in enumerate(variables)},
    )


def measure(runs: Mapping[str, Cost], rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each of `runs`, which are played in turns, `rounds` times."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, cost in runs.items():
            print(f"bench-peers: round {number + 1}, {name} ...", file=sys.stderr, flush=True)
            found[name].append(cost())
    return found


def lines(found: Mapping[str, Sequence[float]]) -> list[str]:
    """Return a row for each run: its median, its ratio to `REFERENCE`, and each measurement."""
    reference = statistics.median(found[REFERENCE])
    rows = [f"{'ms of a core for an update':<32}{'median':>8}{'ratio':>8}   each"]
    for name, costs in found.items():
        median = statistics.median(costs)
        each = " ".join(f"{cost:.2f}" for cost in costs)
        rows.append(f"{name:<32}{median:>8.2f}{median / reference:>8.2f}   {each}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.npz"
        write(file)
        try:
            found: dict[str, Any] = measure(contenders(file), asked.rounds)
        except EmulatorError as error:
            sys.exit(f"bench-peers: {error}")
    print(json.dumps(found, indent=2) if asked.json else "\n".join(lines(found)))


if __name__ == "__main__":
    main()
