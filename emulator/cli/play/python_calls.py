"""The functions behind `emulator.run` and `emulator.sweep`."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...checks.preflight import warnings
from ...runs.cancel import Canceled, canceling
from ...runs.conductor import ProgressView
from ...scenario import Override, Scenario, load
from ...shaping.features import DELAYS
from ...sweeps import Axis, Finished, Grid, Quiet, Standing, folder_name, sweep
from ...sweeps.players import players
from ...sweeps.preparation import warned
from ..read.played import Run, Sweep
from .run import capacity, player, tables

if TYPE_CHECKING:
    from ...shaping.features import Delay

Progress = Callable[[str], None]


def play_run(
    scenario: "str | os.PathLike[str] | Scenario",
    on: str,
    changes: Mapping[str, Any],
    runs: Path,
    progress: Progress | None,
    shaping: "Delay | None",
) -> Run:
    """Play `scenario` as `emulator.run` promises."""
    if shaping not in (None, *DELAYS):
        raise ValueError(f"shaping={shaping!r} is not {' or '.join(map(repr, DELAYS))}")
    if shaping and on == "virtual":
        raise ValueError(f"shaping={shaping!r} is for containers: there are none in virtual time")
    play = player(on, shaping)
    if not isinstance(scenario, Scenario):
        scenario = load(Path(scenario), overrides(changes))
    elif changes:
        raise ValueError("set= changes a file: give the scenario's path, or load it with overrides")
    warned = tuple(warnings(scenario, on, runs, capacity(on), tables(on, scenario)))
    with interruptible():
        folder, summary = play(scenario, runs, ProgressView(progress))
    return Run(folder, summary, warned)


def play_sweep(
    file: Path,
    over: Mapping[str, Sequence[Any]],
    seeds: int,
    changes: Mapping[str, Any],
    out: Path | None,
    runs: Path,
    cores: int | str | None,
    progress: Progress | None,
) -> Sweep:
    """Play the grid of `over` and `seeds` as `emulator.sweep` promises."""
    if seeds < 1:
        raise ValueError(f"seeds={seeds} is not 1 or more")
    axes = tuple(f"{path}={_axis(path, values)}" for path, values in over.items())
    grid = Grid(file, tuple(_assigned(*change) for change in changes.items()), axes, seeds)
    points = grid.points()
    out = out or runs / "sweeps" / folder_name(points)
    by = (None, cores) if isinstance(cores, str) else (cores, None)
    with interruptible(), players(*by) as here:
        about, view = grid.plain(), _SweepSteps(progress)
        finished = sweep(points, out, here.cores, view, about=about, runs=runs, start=here.start)
    rows = [point.row for point in finished]
    return Sweep(out, rows, [_run(point.folder) for point in finished], warned(points))


def overrides(changes: Mapping[str, Any]) -> list[Override]:
    """Return `changes`, new values by their paths, as overrides of a scenario."""
    return [Override(_assigned(*change), "set") for change in changes.items()]


def _assigned(path: str, value: object) -> str:
    """Return `PATH=VALUE`, the override of a key. Errors of `as_yaml` get the key's name."""
    try:
        return f"{path}={as_yaml(value)}"
    except (TypeError, ValueError) as error:
        raise type(error)(f"set={{{path!r}: {value!r}}}: {error}") from error


def as_yaml(value: object) -> str:
    """Return `value` as YAML on one line; a text is YAML already, as after `--set`.

    Raises TypeError for a value that JSON cannot hold, and ValueError for NaN.
    """
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    return json.dumps(value, allow_nan=False, default=_plain)


def _plain(value: object) -> object:
    """Return a number or an array of NumPy as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is not a value of a scenario")


def _axis(path: str, values: Sequence[Any]) -> str:
    """Return the `values` of a key as the text of an axis, parted by commas.

    Raises TypeError for a text, which is a sequence of its characters.
    """
    if isinstance(values, str):
        raise TypeError(f"over={{{path!r}: {values!r}}}: give a list of values: [{values!r}]")
    return ",".join(map(_unparted, values))


def _unparted(value: object) -> str:
    """Return `value` as YAML; a text whose commas would part it is quoted."""
    text = as_yaml(value)
    return text if len(Axis.parse(f"x={text}").values) == 1 else json.dumps(text)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C in the block end what is being played.

    An interruption that leaves no result raises KeyboardInterrupt.
    """
    try:
        with canceling():
            yield
    except Canceled as canceled:  # a name that callers need not know
        raise KeyboardInterrupt from canceled


def _run(folder: Path) -> Run:
    return Run(folder, json.loads((folder / "summary.json").read_bytes()))


class _SweepSteps(Quiet):
    """Observer of a sweep that passes steps and finished points on to a function."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress or (lambda text: None)

    def progress(self, text: str) -> None:
        self._progress(text)

    def finished(self, point: Finished, now: Standing) -> None:
        self._progress(f"{now.finished}/{now.total} {point.label}")
