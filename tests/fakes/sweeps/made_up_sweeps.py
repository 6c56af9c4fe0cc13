"""Sweeps whose points are played in no time, by `made_up_play`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from emulator.sweeps import Finished, Grid, Point, Standing, sweep
from emulator.sweeps.point_process import Process, Start

MADE_UP = (sys.executable, "-m", "tests.fakes.sweeps.made_up_play")

SCENARIO = """# Which learning rate?
name: pair
seed: 4
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 40}
virtual: {learner: none, step: 10ms, boot: 1s}
devices:
  - {name: near, count: 2, link: {up: {rate: 1mbit}}}
"""


def by_command(command: Sequence[str]) -> Start:
    """Return a function that has points played by `command`, whatever their runtime."""
    return lambda tasks: Process(tasks, command)


class Watching:
    """A view that keeps everything shown."""

    def __init__(self) -> None:
        self.standings: list[Standing] = []
        self.said: list[str] = []

    def progress(self, text: str) -> None:
        self.said.append(text)

    def line(self, text: str) -> None:
        self.said.append(text)

    def standing(self, now: Standing) -> None:
        self.standings.append(now)

    def finished(self, one: Finished, now: Standing) -> None:
        self.said.append(one.label)


def made_up(
    points: list[Point], out: Path, cores: int = 2, view: Watching | None = None
) -> list[Finished]:
    return sweep(points, out, cores, view or Watching(), start=by_command(MADE_UP))


def rates(file: Path, *values: float, seeds: int = 1) -> list[Point]:
    over = "training.learning_rate=" + ",".join(f"{value:g}" for value in values)
    return Grid(file, over=(over,), seeds=seeds).points()
