"""Small worlds in virtual time, with made-up digits: no data, no engine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from emulator.learning.datasets import Dataset
from emulator.learning.datasets.examples import Examples
from emulator.log.records import Record
from emulator.runs import data_split
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Timed, loads
from tests.fakes.plain_records import PlainRecord, plain

SCENARIO = """
# Does it learn?
name: tiny
seed: 3
training: {dataset: digits, model: digits-mlp, batch_size: 8, algorithm: adacomp}
evaluate: {every: 100}
stop: {updates: 400}
virtual: {learner: numpy, step: {lognormal: [20ms, 0.2]}, boot: 50ms}
devices:
  - name: adsl
    count: 3
    profile: raspberry-pi-4
    link:
      up: {rate: 1mbit, delay: 25ms, jitter: 3ms, loss: 0.1%}
      down: {rate: 8mbit, delay: 25ms, jitter: 5ms}
  - {name: fiber, count: 2, profile: laptop, link: fios}
faults:
  - {kind: crash, nodes: [adsl-0], at: 1s, lasts: 1s}
  - {kind: partition, nodes: [fiber], at: 1.5s, lasts: 1s}
"""


class Onlooker:
    """A View that keeps the records and counts the beats."""

    def __init__(self) -> None:
        self.records: list[PlainRecord] = []
        self.beats = 0

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None:
        pass

    def record(self, record: Record) -> None:
        self.records.append(plain(record))

    def beat(self, now: float) -> None:
        self.beats += 1


@contextmanager
def digits() -> Iterator[None]:
    """Ten blurred templates, eight by eight, in place of the data set."""
    dice = np.random.default_rng(1)
    templates = dice.integers(0, 17, (10, 8, 8))

    def examples(count: int) -> Examples:
        labels = np.arange(count) % 10
        noisy = templates[labels] + dice.normal(0, 3, (count, 8, 8))
        images = np.clip(noisy, 0, 16).astype(np.uint8)
        return Examples(images, labels.astype(np.uint8), 16)

    made = Dataset("digits", examples(400), examples(200))
    with patch.object(data_split.datasets, "load", lambda name: made):
        yield


def played(
    runs: Path,
    *overrides: str,
    text: str = SCENARIO,
    cores: int | None = 1,
    files: Path = Path(),
) -> tuple[Path, dict[str, Any], Onlooker]:
    """Play the scenario with `overrides`, with its files in the folder `files`; return folder,
    summary and the view."""
    view = Onlooker()
    with digits():
        folder, summary = play(loads(text, overrides, files), runs, view, cores=cores)
    return folder, summary, view
