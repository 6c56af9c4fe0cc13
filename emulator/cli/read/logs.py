"""`emulate logs`: print the log of a run, or the output of a node."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from ...errors import EmulatorError
from ...runs.folder import conductor, find
from ..options import RUN, RUNS_OPTION
from ..prepare.completed_words import device_names

PAUSE = 0.5
"""Seconds between two looks at a growing file."""


@click.command(short_help="Print the log of a run, or the output of a device.")
@RUN
@click.argument("device", required=False, shell_complete=device_names)
@click.option(
    "-f", "--follow", is_flag=True, help="Print new lines as they come, until the run ends."
)
@RUNS_OPTION
def logs(run: str, device: str | None, follow: bool, runs: Path) -> None:
    """Print the log of RUN, a line for every record, or the output of DEVICE.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. DEVICE is a
    device's name, `server` or `evaluator`; runs in virtual time have no such output. While the run
    is being played, the log has the records of the server only; the others are added at the end.

    \b
    emulate logs quickstart                   the log of the latest run
    emulate logs -f quickstart                the same, followed until the run ends
    emulate logs quickstart fiber-1           the output of one device
    """
    path = find(run, runs)
    look = _printed(path, device) if device else _happened(path)
    empty = True
    for line in _followed(path, look) if follow else look():
        click.echo(line)
        empty = False
    if empty:
        click.echo(f"{path.name}: {device or 'the log'} has no lines", err=True)


Look = Callable[[], Iterable[str]]
"""Returns the lines that are new since its last call."""


def _followed(path: Path, look: Look) -> Iterator[str]:
    while True:
        # asked before the look: after the run's end one more look sees the last lines
        ongoing = conductor(path) is not None
        yield from look()
        if not ongoing:
            return
        time.sleep(PAUSE)


def _printed(path: Path, node: str) -> Look:
    log = path / "devices" / f"{node}.log"
    if not log.is_file():
        names = ", ".join(sorted(file.stem for file in log.parent.glob("*.log")))
        there_is = f"but of {names}" if names else "nor of any node; virtual time writes none"
        raise EmulatorError(f"{path.name} has no output of {node!r}, {there_is}")
    opened = log.open(encoding="utf-8", errors="replace")
    file = click.get_current_context().with_resource(opened)
    return lambda: (line.rstrip("\n") for line in file)


def _happened(path: Path) -> Look:
    from ...log.lines import Tail, read
    from ...log.records import EvaluationRecord
    from ...log.targets import TravelledBytes
    from ..watching.progress import PrintedRecords
    from ..watching.run_views import describe_record

    server, whole = Tail(path / "server" / "run.jsonl"), path / "run.jsonl"
    printed = PrintedRecords()
    sums = TravelledBytes()

    def look() -> Iterator[str]:
        # at the end of the run the server's own log is merged into `whole` and removed
        try:
            records = filter(printed.lacks, read(whole)) if whole.is_file() else server.read()
            for record in list(records):
                printed.note(record)
                sums.take(record)
                measured = record if isinstance(record, EvaluationRecord) else None
                yield describe_record(record, sums.before(measured) if measured else None)
        except ValueError as error:
            raise EmulatorError(f"the log of {path.name} is damaged: {error}") from error

    return look
