"""Play a scenario: `run`; and `node`, what every container runs."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from ..folder import RUNS
from .progress import Progress, amount
from .world import JSON_OPTION

FILE = click.argument("file", type=click.Path(path_type=Path))
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    help="Override a key of the scenario, as --set training.batch_size=32. Repeatable.",
)


@click.command()
@FILE
@SET
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=RUNS,
    show_default=True,
    help="Folder under which the run's folder is made.",
)
@click.option("--report/--no-report", default=True, help="Draw figures and a page at the end.")
@JSON_OPTION
def run(file: Path, overrides: tuple[str, ...], runs: Path, report: bool, as_json: bool) -> None:
    """Play the scenario FILE in containers, and leave a run folder.

    Ctrl-C ends it and keeps what there is. The exit code is 0 if the stop condition was reached,
    130 if it was interrupted, 2 if the file is wrong and 1 for all else.
    """
    from ..runtimes.docker.session import play
    from ..scenario import load, timeline

    scenario = load(file, overrides)
    progress = Progress(
        tuple(device.name for device in scenario.nodes), timeline(scenario), scenario.stop.updates
    )
    with _view(progress, scenario.name, to_stderr=as_json) as view:
        folder, summary = play(scenario, runs, view)
    if report:
        from analysis.report import report as draw

        page: Path | None = draw(folder)
    else:
        page = None
    if as_json:
        click.echo(json.dumps({"run": str(folder), **summary}, indent=2))
    else:
        _tell(folder, summary, page)
    sys.exit({"success": 0, "stopped": 0, "canceled": 130}.get(summary["outcome"], 1))


def _view(progress: Progress, name: str, *, to_stderr: bool) -> Any:
    from rich.console import Console

    from .view import LiveView, PlainView

    console = Console(stderr=to_stderr)
    if console.is_terminal:
        return LiveView(progress, console, name)
    return PlainView(progress, console)


def _tell(folder: Path, summary: dict[str, Any], page: Path | None) -> None:
    def line(what: str, value: str) -> None:
        click.echo(f"{what:<12} {value}")

    detail = f": {summary['detail']}" if summary["detail"] else ""
    line("outcome", f"{summary['outcome']} ({summary['stop']}{detail})")
    if summary["final_accuracy"] is not None:
        best = summary["best_accuracy"]
        line("accuracy", f"{summary['final_accuracy']:.2%} (best {best:.2%})")
    line("updates", f"{summary['updates']} in {summary['duration_s']:.1f} s")
    if summary["compression_ratio"]:
        dense, pushed = summary["dense_push_bytes"], summary["push_bytes"]["total"]
        ratio = f"{summary['compression_ratio']:.1f}x less than dense ({amount(dense)})"
        line("pushed", f"{amount(pushed)}, {ratio}")
    line("faults", f"{summary['faults_realised']} of {summary['faults_planned']} planned")
    for reason in summary["fidelity"]["reasons"]:
        line("WARNING", f"the host did not keep up: {reason}")
    line("run", str(_short(folder)))
    if page:
        line("report", str(_short(page)))


def _short(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@click.command()
def node() -> None:
    """Be a node: what every container runs, told by /etc/emulate/node.json."""
    from ..node.supervisor import main

    main()
