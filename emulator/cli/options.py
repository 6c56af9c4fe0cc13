"""Arguments and options that several commands share."""

from functools import partial
from pathlib import Path

import click

from ..runs.folder import RUNS

FILE = click.argument("file", type=click.Path(path_type=Path))
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    help="Override a key of the scenario, as --set training.batch_size=32. Repeatable.",
)
ON = {"docker": "containers", "virtual": "virtual time"}
"""The runtimes, and what each is in words."""

ON_OPTION = partial(
    click.option, "--on", type=click.Choice(list(ON)), default="docker", show_default=True
)
"""To be called with a help: what is done there."""
RUNS_OPTION = click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=RUNS,
    show_default=True,
    metavar="FOLDER",
    help="Folder that holds the runs.",
)
OUT_OPTION = partial(
    click.option, "--out", type=click.Path(path_type=Path), default=None, metavar="FOLDER"
)
"""To be called with a help: what it is the folder of."""
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
