"""`emulate data`: get the data sets."""

from functools import partial
from pathlib import Path

import click


@click.command(short_help="Get the data sets that are missing here.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take the files from this folder, and download nothing.",
)
def data(names: tuple[str, ...], folder: Path | None) -> None:
    """Get each data set NAME that is missing here; without NAME, get every missing data set.

    NAME is mnist, fashion-mnist, digits or sentences (texts that the emulator writes itself).
    Every file is checked by its digest, and kept in the cache of this user.

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
