"""Distributed training on emulated edge devices with shaped links and injected faults.

    import emulator

    run = emulator.run("lab.yaml", on="virtual", set={"training.batch_size": 32})
    print(run.summary["final_accuracy"], run.updates["staleness"].median())

The names of `__all__` are the stable surface; docs/from-python.md documents them. The functions
import their parts when they are called: a device's container holds this package without pydantic
and pandas.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from .cli.read.played import ReadRun, Run, Sweep
    from .scenario import Scenario

# TensorFlow takes oneDNN's kernels by itself on some processors only, and decides it once for the
# process. Here it takes them on all: a gradient of `mnist-cnn` needs two thirds of the time with
# AVX2, and one of `char-lstm` half. Other kernels give other last digits, so that a run in virtual
# time would differ from one in containers, which do not see this environment.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

__all__ = ["Run", "Scenario", "Sweep", "analysis", "load", "read_run", "run", "sweep"]


def load(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> "Scenario":
    """Read the scenario file at `path`, and apply each `PATH=VALUE` of `overrides` to it.

    Raises ScenarioError; its message names every mistake with file, line and place.
    """
    if isinstance(overrides, str):
        raise TypeError(f"overrides is a text, not a list of texts: write [{overrides!r}]")
    from .scenario import load as read

    return read(Path(path), overrides)


def run(
    scenario: "str | os.PathLike[str] | Scenario",
    *,
    on: Literal["docker", "swarm", "virtual"] = "docker",
    set: Mapping[str, Any] | None = None,
    runs: str | os.PathLike[str] = "runs",
    progress: Callable[[str], None] | None = None,
    shaping: Literal["netem", "packets", "receiver"] | None = None,
) -> "Run":
    """Play `scenario`, a file or what `load` returned, in containers of this host (`docker`) or of
    all hosts of a swarm, or in virtual time.

    `set` has new values for keys of a file, by their paths; a text is YAML, as after `--set`. The
    run's folder is made below `runs`. `progress` is called with each step of starting and ending.
    `shaping` forces the means of delays in containers, as `emulate run --shaping` does. A run that
    fails because no device is left returns as well: see `Run.outcome`.

    Raises ScenarioError for mistakes in a file; EmulatorError if the run cannot start, for example
    without data, engine or image, or if it breaks off; and ValueError for `shaping` in virtual
    time and for `set` without a file.

    Ctrl-C ends the run with the outcome `canceled`; before the run has a folder, KeyboardInterrupt
    is raised. Only the main thread can call this function, as only that thread receives signals.
    """
    from .cli.play.python_calls import play_run

    return play_run(scenario, on, set or {}, Path(runs), progress, shaping)


def sweep(
    scenario: str | os.PathLike[str],
    over: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 1,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] = "runs",
    cores: int | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> "Sweep":
    """Play the file `scenario` in virtual time for every combination of the values in `over`.

    `over` has a list of values for each key that varies, by its path. Each combination is played
    with `seeds` seeds, from the scenario's own on; `set` holds for all. A process on one core plays
    each point, `cores` of them at a time (None: as many as there are cores). The folder is `out`,
    or RUNS/sweeps/NAME-DIGEST. Finished points are not played again. `cores` may also be
    the address of the scheduler of a Dask cluster, whose workers then play the points.

    Raises ScenarioError for the mistakes of all points; EmulatorError as `run` does; and
    KeyboardInterrupt after Ctrl-C: the same call plays the missing points.
    """
    from .cli.play.python_calls import play_sweep

    folder = None if out is None else Path(out)
    return play_sweep(Path(scenario), over, seeds, set or {}, folder, Path(runs), cores, progress)


def read_run(folder: str | os.PathLike[str]) -> "ReadRun":
    """Return the `analysis.Run` of a run's folder: scenario, manifest, summary, frames of records.

    Raises EmulatorError if the folder holds no run, or a damaged file.
    """
    from .cli.read.analysis_package import analysis
    from .cli.read.pages import runs_readable

    with runs_readable():
        read: ReadRun = analysis().read(folder)
    return read


class _CheckoutAnalysis:
    """Imports `emulator.analysis`, which a wheel has, from the folder `analysis/` of a checkout."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> "ModuleSpec | None":
        whole = f"{__name__}.analysis"
        if name != whole and not name.startswith(f"{whole}."):
            return None
        from importlib.machinery import ModuleSpec

        from .cli.read.analysis_package import is_checkouts, own_spec

        if name == whole and not is_checkouts("analysis"):
            return own_spec()  # the name `analysis` is another package's here
        if name != whole and sys.modules[whole].__name__ == whole:
            return None
        return ModuleSpec(name, cls())  # type: ignore[arg-type]

    def create_module(self, spec: "ModuleSpec") -> ModuleType:
        from .cli.read.analysis_package import analysis

        module: ModuleType = analysis(spec.name.removeprefix(f"{__name__}.analysis").lstrip("."))
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own  # the module has been run under its own name


if not (Path(__file__).parent / "analysis").is_dir():
    sys.meta_path.insert(0, _CheckoutAnalysis)  # before the finder of submodules


def __getattr__(name: str) -> Any:
    if name == "Scenario":
        from .scenario import Scenario

        return Scenario
    if name in ("Run", "Sweep"):
        from .cli.read import played

        return getattr(played, name)
    if name == "analysis":  # `emulator.analysis` in a wheel, `analysis` in a checkout
        from .cli.read.analysis_package import analysis

        return analysis()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
