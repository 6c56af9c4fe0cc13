"""`python -m emulator.datasets [--from FOLDER] [NAME…]` gets the data sets that are not here."""

import sys
from functools import partial
from pathlib import Path

import click

from ..errors import DataError
from .catalog import DATASETS
from .fetch import fetch
from .sources import Folder


@click.command()
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that holds the files; nothing is downloaded.",
)
@click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice(list(DATASETS)))
def main(folder: Path | None, names: tuple[str, ...]) -> None:
    """Get data sets that are not on this machine yet: all of them, or those named."""
    sources = [Folder(folder)] if folder else None
    try:
        for name in names or DATASETS:
            fetch(name, partial(print, flush=True), sources)
    except DataError as error:
        sys.exit(f"emulate: {error}")


main()
