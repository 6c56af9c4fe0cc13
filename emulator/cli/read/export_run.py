"""`emulate export`: write a run's tables, scalars and weights in the formats of other tools."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import click

from ...errors import EmulatorError, HostError
from ...machine.made_files import filling
from ..options import (
    FIGURE_FORMATS,
    FONT_OPTION,
    OUT_OPTION,
    RUN,
    RUNS_OPTION,
    TRUST_OPTION,
    WIDTH_OPTION,
    Printed,
    printed,
)
from .analysis_package import analysis
from .pages import as_print, ended, figure_files, require_kept_code, runs_readable, short

_WEIGHTS = "model.weights.h5"
_TABLES = ("csv", "parquet")


@click.command(short_help="Write a run's tables, figures, events, or weights.")
@RUN
@click.option(
    "--format",
    "form",
    type=click.Choice([*_TABLES, "tensorboard", "keras", *FIGURE_FORMATS]),
    required=True,
    metavar="FORMAT",
    help="`csv` and `parquet`: a file for each table of `emulator.analysis.load(RUN)`; "
    "`tensorboard`: a file of events; `keras`: the trained weights of a model of your own; "
    "`png`, `svg` and `pdf`: the figures of the report.",
)
@WIDTH_OPTION
@FONT_OPTION
@OUT_OPTION(help="Folder of the files; RUN/FORMAT if not given.")
@TRUST_OPTION
@RUNS_OPTION
def export(
    run: str,
    form: str,
    width: str | None,
    font: str | None,
    out: Path | None,
    trust: bool,
    runs: Path,
) -> None:
    """Write RUN for other tools, and print the path of each file.

    Files of an earlier export are replaced; a file that was not made, or was changed since, is
    not.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. Parquet needs
    the package pyarrow: pip install 'edge-emulate[parquet]'.

    `keras` runs the Python files that RUN names on this host, with your rights, and so do `png`,
    `svg` and `pdf` with figures of your own, and every format for a run that died. If a file has
    changed since the run, the command asks, or is refused without a terminal.

    \b
    emulate export quickstart --format csv
    emulate export 8c4eb2 --format parquet --out build/tables
    emulate export quickstart --format tensorboard --out build/events
    emulate export quickstart --format pdf --width 3.33in --font 8 --out paper
    emulate export own --format keras         then: model.load_weights(".../model.weights.h5")
    tensorboard --logdir build/events         a package of its own: pip install tensorboard
    """
    prints = printed(form if form in FIGURE_FORMATS else None, width, font)
    if form not in FIGURE_FORMATS and prints != Printed():
        raise click.UsageError("--width and --font are of figures: --format png, svg or pdf")
    folder = ended(run, runs, trust=trust)
    if form in ("keras", *FIGURE_FORMATS) and not trust:
        # Keras' weights need the model, figures need the user's own
        require_kept_code(folder, figures_only=form != "keras")
    out = out or folder / form
    try:
        made = _write(folder, form, out, prints)
    except OSError as error:
        raise HostError(f"cannot write {out}: {error.strerror or error}") from error
    for path in made:
        click.echo(short(path))


def _write(folder: Path, form: str, out: Path, prints: Printed) -> list[Path]:
    """Write the run in `folder` into `out` in the format `form`, and return the paths."""
    match form:
        case "tensorboard":
            return [events(folder, out)]
        case "keras":
            with filling(out, [_WEIGHTS]):
                return [weights(folder, out)]
        case "csv" | "parquet":
            with filling(out, [f"{name}.{form}" for name in analysis().TABLES]):
                return _tables(folder, form, out)
        case _:
            return figures(folder, out, prints)


def figures(folder: Path, out: Path, prints: Printed) -> list[Path]:
    """Write the figures of the run in `folder` into `out`, and return their paths.

    They are those of the report, with the user's own. Figures without data have no file.
    """
    from .own_figures import own_figures

    own = own_figures(folder)
    own_files = [f"{figure.name}.{form}" for figure in own for form in prints.formats]
    names = [*figure_files(prints.formats), *own_files]
    with runs_readable(), filling(out, names):
        analysis("pages.report").draw(analysis().read(folder), own, out, as_print(prints))
    return [out / name for name in names if (out / name).is_file()]


def events(folder: Path, out: Path) -> Path:
    """Write the scalars of the run in `folder` as a file of events in `out`; return its path.

    Raises EmulatorError if the run is damaged, and OSError if `out` cannot be written.
    """
    from ...log.lines import read
    from ...log.tensorboard.event_files import EventFile
    from ...log.tensorboard.scalars import Scalars

    zero, scalars = _started(folder / "manifest.json"), Scalars()
    file = EventFile(out, folder.name, zero)
    try:
        for record in read(folder / "run.jsonl"):
            for point in scalars.take(record):
                file.write(*point)
    except BaseException as error:
        with suppress(OSError):
            file.path.unlink()
        if isinstance(error, ValueError):
            raise EmulatorError(str(error)) from error
        raise
    finally:
        file.close()
    return file.path


def weights(folder: Path, out: Path) -> Path:
    """Write the trained weights of the run in `folder` to `out`, for `load_weights` of Keras.

    Raises EmulatorError if the run did not train a model of one's own, or has no model, and
    OSError if `out` cannot be written.
    """
    from ...learning.learners.export import write_keras_weights
    from ...learning.models import OwnModel
    from ...scenario import load

    training, trained = load(folder / "scenario.yaml").training, folder / "model.npz"
    model = training.network if isinstance(training.model, str) else None
    if not isinstance(model, OwnModel):
        raise EmulatorError(
            f"{short(folder)} trained {training.model_name}, which is no Keras model of your own: "
            "read its parameters from model.npz"
        )
    if not trained.is_file():
        raise EmulatorError(f"{short(folder)} has no model.npz: a run writes it at its end")
    out.mkdir(parents=True, exist_ok=True)
    try:
        write_keras_weights(model, trained, out / _WEIGHTS)
    except ValueError as error:
        raise EmulatorError(f"{short(trained)}: {error}") from error
    return out / _WEIGHTS


def _started(manifest: Path) -> float:
    """Return when the run began, in seconds since 1970; 0 if unknown."""
    try:
        return datetime.fromisoformat(json.loads(manifest.read_bytes())["started"]).timestamp()
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _tables(folder: Path, form: str, out: Path) -> list[Path]:
    with runs_readable():
        write: Callable[..., list[Path]] = analysis().write
        return write(analysis().load(folder), form, out)
