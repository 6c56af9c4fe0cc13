"""Runs as they are and were: list, logs, stop, clean."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..errors import EmulatorError
from ..folder import RUNS, find
from ..runlog import read

RUNS_OPTION = click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=RUNS,
    show_default=True,
    help="Folder that holds the runs.",
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


@click.command("list")
@RUNS_OPTION
@JSON_OPTION
def list_(runs: Path, as_json: bool) -> None:
    """Show the runs, the newest last."""
    rows = [_row(path) for path in sorted(runs.glob("*/*"), key=lambda path: path.name)]
    found = [row for row in rows if row]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    if not found:
        click.echo(f"no runs in {runs}/: `emulate run scenarios/quickstart.yaml` makes one")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("run", "outcome", "updates", "accuracy", "compression", "duration")
    for row in found:
        table.add_row(*[_cell(name, row.get(name)) for name in _COLUMNS])
    Console().print(table)


_COLUMNS = ("run", "outcome", "updates", "final_accuracy", "compression_ratio", "duration_s")


def _row(path: Path) -> dict[str, Any] | None:
    if path.is_symlink() or not (path / "scenario.yaml").is_file():
        return None
    name = f"{path.parent.name}/{path.name}"
    summary = path / "summary.json"
    if not summary.is_file():
        alive = conductor(path) is not None
        return {"run": name, "outcome": "running" if alive else "unfinished"}
    facts = json.loads(summary.read_bytes())
    return {"run": name, **{column: facts.get(column) for column in _COLUMNS[1:]}}


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name == "final_accuracy":
        return f"{value:.2%}"
    if name == "compression_ratio":
        return f"{value:.1f}x"
    return f"{value:.0f} s" if name == "duration_s" else str(value)


@click.command()
@click.argument("run")
@click.argument("device", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on as more comes, until the run ends.")
@RUNS_OPTION
def logs(run: str, device: str | None, follow: bool, runs: Path) -> None:
    """Print what happened in RUN, or what DEVICE (or server, evaluator) printed.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run.
    """
    path = find(run, runs)
    lines = _device_lines(path, device, follow) if device else _run_lines(path, follow)
    for line in lines:
        click.echo(line)


def _device_lines(path: Path, device: str, follow: bool) -> Iterator[str]:
    log = path / "devices" / f"{device}.log"
    if not log.is_file():
        names = ", ".join(sorted(file.stem for file in log.parent.glob("*.log")))
        raise EmulatorError(f"{path.name} has no {device!r}; it has {names}")
    with log.open(encoding="utf-8") as file:
        while True:
            ongoing = follow and conductor(path) is not None
            for line in file:
                yield line.rstrip("\n")
            if not ongoing:
                return
            time.sleep(0.5)


def _run_lines(path: Path, follow: bool) -> Iterator[str]:
    from .view import describe

    if (path / "run.jsonl").is_file():
        yield from (describe(record) for record in read(path / "run.jsonl"))
        return
    from ..tail import Tail

    tail = Tail(path / "server" / "run.jsonl")
    while True:
        ongoing = follow and conductor(path) is not None
        yield from (describe(record) for record in tail.read())
        if not ongoing:
            return
        time.sleep(0.5)


def conductor(path: Path) -> int | None:
    """The process that conducts the run in `path`, if it lives."""
    try:
        pid = int((path / "conductor.pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if b"emulate" in command else None


@click.command()
@click.argument("run")
@RUNS_OPTION
def stop(run: str, runs: Path) -> None:
    """End RUN now, keep its results (its outcome is `stopped`), and leave nothing behind."""
    path = find(run, runs)
    pid = conductor(path)
    if pid is None:
        raise EmulatorError(f"{path.name} is not running; `emulate clean` removes leftovers")
    os.kill(pid, signal.SIGUSR1)
    with click.progressbar(length=1, label=f"stopping {path.name}", show_eta=False) as bar:
        while conductor(path) == pid:
            time.sleep(0.1)
        bar.update(1)


@click.command()
@click.option("--run", "run", default=None, help="Only what this run (its id) has left.")
@JSON_OPTION
def clean(run: str | None, as_json: bool) -> None:
    """Remove every container, network and volume that runs have left behind.

    They are found by their label; nothing without it is touched. Run folders stay.
    """
    from ..runtimes.docker.border import connect
    from ..runtimes.docker.sweep import sweep

    swept = sweep(connect(), run)
    counts = {
        "containers": swept.containers,
        "networks": swept.networks,
        "volumes": swept.volumes,
    }
    if as_json:
        click.echo(json.dumps(counts))
    else:
        click.echo("removed " + ", ".join(f"{count} {what}" for what, count in counts.items()))
