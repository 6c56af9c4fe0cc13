"""Play one scenario in containers and in virtual time, and say how far the two agree."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from .after import runs_readable, short
from .play import EXIT_CODES, ON, watched


def agree(
    file: Path, overrides: tuple[str, ...], out: Path | None, runs: Path, *, as_json: bool
) -> None:
    """Both runs stay in `runs`; the process ends with the exit code of the first that failed."""
    from ..runtimes.docker.session import require
    from ..scenario import load

    scenario = load(file, overrides)
    require()  # before virtual time has taken its minutes
    folders: dict[str, Path] = {}
    for on in ("virtual", "docker"):
        click.echo(f"{scenario.name} in {ON[on]}", err=as_json)
        folders[on], summary = watched(scenario, on, runs, to_stderr=as_json)
        if summary["outcome"] != "success":
            click.echo(f"{summary['outcome']}: nothing to compare: {short(folders[on])}", err=True)
            sys.exit(EXIT_CODES.get(summary["outcome"], 1) or 1)
    _tell(folders, out, as_json=as_json)


def _tell(folders: dict[str, Path], out: Path | None, *, as_json: bool) -> None:
    from analysis import agreement, compare, read

    with runs_readable():
        docker, virtual = read(folders["docker"]), read(folders["virtual"])
        table = agreement.agreement(docker, virtual)
        drawn = None
        if out:
            both = [docker, virtual]
            drawn = compare.compare_html(both, out, agreement.readable(table))
    if as_json:
        told: dict[str, Any] = {on: str(folder) for on, folder in folders.items()}
        click.echo(json.dumps({**told, "agreement": agreement.rows(table)}, indent=2))
        return
    click.echo(f"\n{agreement.text(table)}\n")
    for on, folder in folders.items():
        click.echo(f"{on:<12} {short(folder)}")
    if drawn:
        click.echo(f"drawn in     {short(drawn)}")
