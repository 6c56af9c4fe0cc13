"""`emulate data`: get the data sets."""

from functools import partial
from pathlib import Path

import click


@click.command(short_help="Get the data sets that this machine lacks.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take the files from this folder, and download nothing.",
)
def data(names: tuple[str, ...], folder: Path | None) -> None:
    """Get the data sets that this machine lacks: all of them, or each NAME.

    There are mnist, fashion-mnist, digits and sentences (texts that the emulator writes itself).

    Every file is checked by its digest, and kept in the user's cache. A data set that is there
    already is left as it is.

    \b
    emulate data
    emulate data mnist digits
    emulate data mnist --from ~/Downloads
    """
    from ..datasets import DATASETS
    from ..datasets.fetch import fetch
    from ..datasets.sources import Folder

    for name in names:
        if name not in DATASETS:
            raise click.BadParameter(
                f"{name!r} is not {' or '.join(DATASETS)}", param_hint="'NAME'"
            )
    sources = [Folder(folder)] if folder else None
    for name in names or DATASETS:
        fetch(name, partial(print, flush=True), sources)
