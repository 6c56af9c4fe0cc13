"""Distributed training on emulated edge devices with shaped links and injected faults.

    from emulator import load, read_run, run

    scenario = load("scenarios/quickstart.yaml", ["stop.updates=500"])
    folder = run(scenario, on="virtual")
    print(read_run(folder).summary["final_accuracy"])

The functions import their parts when they are called: a device's container holds this package
without pydantic and pandas.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .scenario import Scenario

__all__ = ["Scenario", "load", "read_run", "run"]


def load(path: str | Path, overrides: Sequence[str] = ()) -> "Scenario":
    """Read the scenario file at `path`, and apply each `PATH=VALUE` of `overrides` to it.

    Raises ScenarioError; its message names every mistake with file, line and place.
    """
    if isinstance(overrides, str):
        raise TypeError(f"overrides is a text, not a list of texts: write [{overrides!r}]")
    from .scenario import load as read

    return read(path, overrides)


def run(
    scenario: "Scenario",
    *,
    on: Literal["docker", "virtual"] = "docker",
    runs: str | Path = "runs",
    progress: Callable[[str], None] | None = None,
    shaping: Literal["netem", "packets", "receiver"] | None = None,
) -> Path:
    """Play `scenario` in containers or in virtual time, and return the run's folder below `runs`.

    `progress` is called with each step of starting and ending. The folder's `summary.json` holds
    the outcome; a run that fails because no device is left returns as well. `shaping` forces the
    means of delays in containers, as `emulate run --shaping` does. Raises EmulatorError if the run
    cannot start, for example without data, engine or image, or if it breaks off, and ValueError for
    `shaping` in virtual time.

    Ctrl-C ends the run with the outcome `canceled`; before the run has a folder, KeyboardInterrupt
    is raised. Only the main thread can call this function, as only that thread receives signals.
    """
    from .cli.run import player
    from .runs.cancel import Canceled, canceling
    from .runs.conductor import ProgressView
    from .shaping.backend import DELAYS

    if shaping not in (None, *DELAYS):
        raise ValueError(f"shaping={shaping!r} is not {' or '.join(map(repr, DELAYS))}")
    if shaping and on == "virtual":
        raise ValueError(f"shaping={shaping!r} is for containers: there are none in virtual time")
    play = player(on, shaping)
    try:
        with canceling():
            folder, _ = play(scenario, Path(runs), ProgressView(progress))
    except Canceled as canceled:  # a name that callers need not know
        raise KeyboardInterrupt from canceled
    return Path(folder)


def read_run(folder: str | Path) -> Any:
    """Return the `analysis.Run` of a run's folder: scenario, manifest, summary, frames of records.

    Raises EmulatorError if the folder holds no run, or a damaged file.
    """
    from .cli.analysis_package import analysis
    from .cli.pages import runs_readable

    with runs_readable():
        return analysis().read(folder)


def __getattr__(name: str) -> Any:
    if name == "Scenario":
        from .scenario import Scenario

        return Scenario
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
