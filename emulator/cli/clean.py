"""Runs as they are and were: list, stop, clean."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from ..errors import EmulatorError
from ..run.folder import conductor, find, folders
from ..run.results import read_json
from .compare import short
from .options import JSON_OPTION, RUNS_OPTION

if TYPE_CHECKING:
    from ..runtimes.docker.owners import Owner

PATIENCE = 90.0
"""Seconds that a run may take to end when it is told to."""

_NUMBER_OR_NONE = (int, float, type(None))
_FACTS: dict[str, tuple[type, ...]] = {
    "outcome": (str,),
    "updates": (int,),
    "final_accuracy": _NUMBER_OR_NONE,
    "compression_ratio": _NUMBER_OR_NONE,
    "duration_s": (int, float),
}
"""What a summary tells of a run in the list, and the types that its values may have."""


@click.command("list", short_help="The runs, the newest last.")
@RUNS_OPTION
@JSON_OPTION
def list_(runs: Path, as_json: bool) -> None:
    """Show the runs, the newest last: how each went, and the id that other commands take.

    A run whose summary or manifest is damaged is left out, and named on standard error.

    \b
    emulate list
    emulate list --json | jq '.[] | select(.outcome == "failed") | .run'
    """
    rows = list(_rows(folders(runs)))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo(f"no runs in {runs}/: `emulate run scenarios/quickstart.yaml` makes one")
    else:
        _print(rows)


def _rows(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        try:
            yield _row(path)
        except EmulatorError as error:
            click.echo(f"emulate: left out: {error}", err=True)


def _row(path: Path) -> dict[str, Any]:
    started, _, id = path.name.rpartition("-")
    return {
        "run": f"{path.parent.name}/{path.name}",
        "id": id,
        "scenario": path.parent.name,
        "started": started,
        **_facts(path),
    }


def _facts(path: Path) -> dict[str, Any]:
    """Return the facts of a run. Raises an EmulatorError if one of its files is damaged."""
    file = path / "summary.json"
    if (path / "manifest.json").exists():
        read_json(path / "manifest.json")
    if not file.exists():
        alive = conductor(path) is not None
        return dict.fromkeys(_FACTS) | {"outcome": "running" if alive else "unfinished"}
    summary = read_json(file)
    for name, types in _FACTS.items():
        if name not in summary:
            raise EmulatorError(f"{file}: {name} is missing")
        if not isinstance(summary[name], types):
            words = "a text" if str in types else "a number"
            raise EmulatorError(f"{file}: {name}: {summary[name]!r} where {words} was expected")
    return {name: summary[name] for name in _FACTS}


def _print(rows: list[dict[str, Any]]) -> None:
    from .tables import console, table

    shown = table(
        "id", "scenario", "started (UTC)", "outcome", "updates", "accuracy", "fewer bytes"
    )
    shown.add_column("lasted")
    for row in rows:
        shown.add_row(
            row["id"],
            row["scenario"],
            _when(row["started"]),
            row["outcome"],
            _or_dash(row["updates"], "{}"),
            _or_dash(row["final_accuracy"], "{:.2%}"),
            _or_dash(row["compression_ratio"], "{:.1f}x"),
            _or_dash(row["duration_s"], "{:.0f} s"),
        )
    console().print(shown)


def _when(stamp: str) -> str:
    """`20261121T105633Z` as people write it."""
    if len(stamp) != len("20261121T105633Z"):
        return stamp
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}"


def _or_dash(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value)


@click.command(short_help="End a run now, and keep its results.")
@click.argument("run")
@RUNS_OPTION
def stop(run: str, runs: Path) -> None:
    """End RUN now: keep its results (its outcome is `stopped`), and leave no container behind.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. Returns when
    the run has ended.

    \b
    emulate stop quickstart
    """
    path = find(run, runs)
    pid = conductor(path)
    if pid is None:
        raise EmulatorError(
            f"{path.name} is not running (`emulate clean` removes what dead runs left behind)"
        )
    try:
        os.kill(pid, signal.SIGUSR1)
    except PermissionError as error:
        raise EmulatorError(f"{path.name} is conducted by another user (process {pid})") from error
    except ProcessLookupError:
        pass  # it has just ended by itself
    click.echo(f"stopping {path.name} ...")
    until = time.monotonic() + PATIENCE
    while conductor(path) == pid:
        if time.monotonic() > until:
            raise EmulatorError(
                f"it has not ended within {PATIENCE:.0f} s: kill process {pid}, its containers "
                "follow within a minute"
            )
        time.sleep(0.1)
    click.echo(f"outcome      {_facts(path)['outcome']}")


@click.command(short_help="Remove what dead runs have left in the engine.")
@click.option(
    "--run", "run", default=None, metavar="ID", help="Only what this run (its id) has left."
)
@click.option("--force", is_flag=True, help="Also what belongs to runs that are being played.")
@JSON_OPTION
def clean(run: str | None, force: bool, as_json: bool) -> None:
    """Remove every container, network and volume that runs have left behind.

    They are found by their label; nothing without it is touched. What belongs to a run that is
    being played is left alone. Run folders stay. The exit code is 1 if something could not be
    removed.

    \b
    emulate clean
    """
    from ..runtimes.docker.client import connect
    from ..runtimes.docker.owners import owners, remove

    client = connect()
    wanted = [owner for owner in owners(client) if run in (None, owner.run)]
    spared = [] if force else [owner for owner in wanted if not owner.abandoned]
    counts = dict.fromkeys(("containers", "networks", "volumes"), 0)
    left: list[str] = []
    for owner in wanted:
        if owner not in spared:
            swept = remove(client, owner)
            counts = {what: count + getattr(swept, what) for what, count in counts.items()}
            left += swept.left
    if as_json:
        told = {**counts, "spared": [owner.run for owner in spared], "left": left}
        click.echo(json.dumps(told))
        sys.exit(1 if left else 0)
    click.echo("removed " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    for owner in spared:
        click.echo(f"left alone: run {owner.run} {_life(owner)}")
    for why in left:
        click.echo(f"emulate: {why}", err=True)
    sys.exit(1 if left else 0)


def _life(owner: "Owner") -> str:
    """Return why what belongs to the owner stays, and what ends it."""
    if owner.conductor is None:
        return (
            "has containers that run, and its lock cannot be seen from here "
            f"({owner.lock or 'its label is missing'}): end it where it was started"
        )
    if owner.folder is None:
        return f"is just starting (process {owner.conductor})"
    if conductor(owner.folder) is None:
        return (
            f"is being played, in a folder that was moved from {owner.folder}: `emulate stop` "
            "ends it, given the folder's new place"
        )
    return f"is being played; `emulate stop {quote(str(short(owner.folder)))}` ends it"
