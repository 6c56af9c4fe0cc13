"""Arguments and options shared by several commands."""

from functools import partial
from pathlib import Path

import click

from ..runs.folder import RUNS
from ..shaping.features import DELAYS
from .prepare.completed_words import run_names, scenario_files, scenario_keys

FILE = click.argument("file", type=click.Path(path_type=Path), shell_complete=scenario_files)
OPTIONAL_FILE = click.argument(
    "file", type=click.Path(path_type=Path), required=False, shell_complete=scenario_files
)
RUN = click.argument("run", shell_complete=run_names)
"""Argument of a run: its folder, its id or its scenario."""

SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    shell_complete=scenario_keys,
    help="Override a key of the scenario, for example --set training.batch_size=32. Repeatable.",
)
ON = {"docker": "containers", "virtual": "virtual time"}
"""The runtimes, with their names in words."""

ON_OPTION = partial(
    click.option, "--on", type=click.Choice(list(ON)), default="docker", show_default=True
)
"""Option of the runtime; call it with the `help` of the command."""
SHAPING_OPTION = click.option(
    "--shaping",
    type=click.Choice(DELAYS),
    default=None,
    metavar="MEANS",
    help="Force the means by which containers' packets are delayed: `netem` in the kernel, "
    "`packets` held in user space behind TAP devices, or whole messages held at the `receiver`. "
    "Default: the first of them that the kernel has.",
)
"""Option of the means of shaping in containers."""
RUNS_OPTION = click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=RUNS,
    show_default=True,
    metavar="FOLDER",
    help="Folder of the runs.",
)
OUT_OPTION = partial(
    click.option, "--out", type=click.Path(path_type=Path), default=None, metavar="FOLDER"
)
"""Option of an output folder; call it with the `help` of the command."""
FIGURE_OPTION = partial(
    click.option,
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.png",
)
"""Option of a picture; call it with the `help` of the command."""
COSTS_OPTION = partial(
    click.option, "--costs", type=click.Path(path_type=Path), metavar="COSTS.json"
)
"""Option of a file of costs; call it with the `help` of the command."""
CORES_OPTION = partial(click.option, "--cores", type=click.IntRange(min=1), metavar="N")
"""Option of the number of runs side by side; call it with the `help` of the command."""
REPORT_OPTION = click.option(
    "--report/--no-report", default=True, show_default=True, help="Draw the report at the end."
)
TRUST_OPTION = click.option(
    "--trust",
    is_flag=True,
    help="Run the Python files that RUN names, though they are not those that the run kept.",
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
