"""`emulate data`: get the data sets, and show how a data set is split over devices."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ..options import FIGURE_OPTION, JSON_OPTION, together
from ..output import console, emit
from ..read.analysis_package import analysis
from ..read.pages import check_figure, figure_drawn
from .completed_words import values_of

if TYPE_CHECKING:
    from .device_shares import DeviceShares


class _Sharing(NamedTuple):
    """How data is split over devices, where that was asked for."""

    split: str | None
    devices: int | None
    seed: int | None


@click.command(short_help="Get the data sets that are missing here, or show a split of one.")
@click.argument(
    "names",
    nargs=-1,
    metavar="[NAME|FILE]...",
    shell_complete=values_of("training.dataset", files=True),
)
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take the files from this folder, and download nothing.",
)
@together(
    "sharing",
    _Sharing,
    click.option(
        "--split",
        metavar="SPLIT",
        help="Show this data split, as in a scenario: `iid`, or '{kind: dirichlet, alpha: 0.1}'.",
    ),
    click.option(
        "--devices", type=click.IntRange(1, 100_000), metavar="N", help="Split over N devices."
    ),
    click.option("--seed", type=int, metavar="N", help="Seed of the split; 0 without it."),
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Say how to read FILE: a key of `training.dataset`, for example --set label=price; for a "
    "scenario, any of its keys. Repeatable.",
)
@click.option("--again", is_flag=True, help="Read FILE again, though the cache has its examples.")
@FIGURE_OPTION(
    help="Draw the split into this file; NAME-split.png without it. No file is replaced but an "
    "earlier picture of `emulate`.",
)
@JSON_OPTION
def data(
    names: tuple[str, ...],
    folder: Path | None,
    sharing: _Sharing,
    overrides: tuple[str, ...],
    again: bool,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Get each data set NAME that is missing here; without NAME, get every missing data set.

    NAME is mnist, fashion-mnist, digits, or what the emulator makes itself: shapes (pictures in
    colours) and sentences (texts). Every file is checked by its digest, and kept in the cache of
    this user.

    FILE is data of your own: a .npz, .csv or .parquet file, a folder of images by class, or
    FILE.py:FUNCTION. Every value is checked. FILE may also be a scenario. The split over the
    devices is shown as a table of devices × classes, and drawn. A NAME is shown likewise if a
    split, a number of devices, a figure or JSON is asked for.

    \b
    emulate data
    emulate data mnist digits
    emulate data mnist --from ~/Downloads
    emulate data ./houses.csv --set label=price --devices 8
    emulate data ./photos --split '{kind: dirichlet, alpha: 0.1}' --devices 20
    emulate data scenario.yaml --figure split.png
    """
    from ...learning.datasets import DATASETS
    from ...learning.datasets.own import is_path

    files = [name for name in names if _is_scenario(name) or is_path(name) or _is_folder(name)]
    for name in names:
        if name not in DATASETS and name not in files:
            raise click.BadParameter(
                f"{name!r} is not {' or '.join(DATASETS)}, and no path of data: a path has a "
                "slash, or ends as .npz, .csv, .parquet, .py:FUNCTION or .yaml",
                param_hint="'NAME'",
            )
    if not files and not (any(sharing) or figure or as_json or overrides or again):
        _fetch(names, folder)
        return
    if len(names) != 1:
        raise click.UsageError(f"one NAME or FILE is shown at a time, not {len(names)}")
    if folder is not None:
        raise click.UsageError("--from gets data sets by NAME, and shows none")
    check_figure(figure)
    (name,) = names
    if _is_scenario(name):
        if sharing.devices is not None or again:
            raise click.UsageError("--devices and --again are for data, and not for a scenario")
        shares = _of_scenario(Path(name), sharing, overrides)
    else:
        shares = _of_data(name, sharing, overrides, again)
    _show(shares, figure, as_json)
    shares.require_examples()


def _is_scenario(name: str) -> bool:
    return name.lower().endswith((".yaml", ".yml"))


def _is_folder(name: str) -> bool:
    from ...learning.datasets import DATASETS

    return name not in DATASETS and Path(name).is_dir()


def _fetch(names: tuple[str, ...], folder: Path | None) -> None:
    """Get the data sets `names`, or all."""
    from ...learning.datasets import DATASETS
    from ...learning.datasets.fetch import fetch
    from ...learning.datasets.sources import Folder

    sources = [Folder(folder)] if folder else None
    for name in names or DATASETS:
        fetch(name, partial(print, flush=True), sources)


def _of_scenario(file: Path, sharing: _Sharing, overrides: tuple[str, ...]) -> "DeviceShares":
    """Return the split of the scenario in `file`."""
    from ...scenario import load
    from ...scenario.reading.typed_values import Override
    from .device_shares import shared

    split, _, seed = sharing
    given = [("split", f"training.split={split}", split), ("seed", f"seed={seed}", seed)]
    options = [Override(text, f"--{name}") for name, text, value in given if value is not None]
    scenario = load(file, (*overrides, *options))
    training, names = scenario.training, [device.name for device in scenario.nodes]
    return shared(training.dataset, training.split, names, scenario.seed)


def _of_data(
    name: str, sharing: _Sharing, overrides: tuple[str, ...], again: bool
) -> "DeviceShares":
    """Return the split of the data `name`, by its name or path, over numbered devices."""
    from ...learning.datasets import DATASETS
    from ...scenario.reading.typed_values import read_dataset, read_split
    from .device_shares import shared

    if name in DATASETS and (overrides or again):
        raise click.UsageError(f"--set and --again are for data of your own, and not for {name}")
    chosen = read_split(sharing.split or "iid", "--split")
    dataset = name if name in DATASETS else read_dataset(name, overrides, again=again)
    names = [f"device-{number}" for number in range(sharing.devices or 10)]
    return shared(dataset, chosen, names, sharing.seed or 0)


def _default_figure(name: str) -> Path:
    """Return the file in the working folder for a picture of the data `name`.

    `name` is a data set, a path, or FILE.py:FUNCTION.
    """
    file, _, function = Path(name).name.partition(":")
    return Path("-".join(filter(None, (Path(file).stem, function, "split"))) + ".png")


def _show(shares: "DeviceShares", figure: Path | None, as_json: bool) -> None:
    """Print `shares` as a table or JSON, and draw them."""
    emit(as_json, shares.plain, lambda: _print(shares), ensure_ascii=False)
    if figure is None and not as_json:
        figure = _default_figure(shares.description.name)
    if figure is not None:
        with figure_drawn(figure, to_stderr=as_json):
            analysis("pictures.split_picture").png(
                list(shares.parts),
                shares.columns,
                shares.counts,
                [len(own) for own in shares.parts.values()],
                figure,
                title=f"{shares.description.name}, split {shares.split.kind}",
                axis="target" if shares.description.task.regression else "class",
            )


def _print(shares: "DeviceShares") -> None:
    from rich.text import Text

    out = console()
    for line in shares.titles:
        out.print(Text(line), soft_wrap=True)
    out.print("", shares.table(), *filter(None, [shares.more]), sep="\n")
