"""What happened in a run, and what its nodes printed: afterwards, or as it comes."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from ..errors import EmulatorError
from ..log.tail import Tail
from ..log.writing import Record, read
from ..runs.folder import conductor, find
from .options import RUNS_OPTION

PAUSE = 0.5
"""Seconds between looks at what has come."""


@click.command(short_help="What happened in a run, or what a device printed.")
@click.argument("run")
@click.argument("device", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on as more comes, until the run ends.")
@RUNS_OPTION
def logs(run: str, device: str | None, follow: bool, runs: Path) -> None:
    """Print what happened in RUN, or what DEVICE (or server, evaluator) printed.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. While it is
    being played, only what the server saw is known; the rest is added in the end.

    \b
    emulate logs quickstart                   all that happened, a line each
    emulate logs -f quickstart                and what goes on happening
    emulate logs quickstart fiber-1           what one device printed
    """
    path = find(run, runs)
    look = _printed(path, device) if device else _happened(path)
    for line in _followed(path, look) if follow else look():
        click.echo(line)


Look = Callable[[], Iterable[str]]
"""The lines that have come since the last look."""


def _followed(path: Path, look: Look) -> Iterator[str]:
    while True:
        ongoing = conductor(path) is not None  # before the look, so that the last one sees all
        yield from look()
        if not ongoing:
            return
        time.sleep(PAUSE)


def _printed(path: Path, node: str) -> Look:
    log = path / "devices" / f"{node}.log"
    if not log.is_file():
        names = ", ".join(sorted(file.stem for file in log.parent.glob("*.log")))
        raise EmulatorError(f"{path.name} has no log of {node!r}; it has {names or 'none yet'}")
    opened = log.open(encoding="utf-8", errors="replace")
    file = click.get_current_context().with_resource(opened)
    return lambda: (line.rstrip("\n") for line in file)


def _happened(path: Path) -> Look:
    from .watching.run_views import describe

    server, whole, told = Tail(path / "server" / "run.jsonl"), path / "run.jsonl", _Told()

    def look() -> Iterator[str]:
        # the server's own log becomes part of the whole one, and is gone
        try:
            records = filter(told.lacks, read(whole)) if whole.is_file() else server.read()
            for record in list(records):
                told.note(record)
                yield describe(record)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"a record lacks {error}" if isinstance(error, KeyError) else str(error)
            raise EmulatorError(f"the log of {path.name} is damaged: {reason}") from error

    return look


class _Told:
    """Which records were told already, as far as is needed to go on in another file."""

    def __init__(self) -> None:
        self._since = -math.inf
        self._latest: list[Record] = []
        self._ended = False

    def note(self, record: Record) -> None:
        known = _known(record)
        if known > self._since:
            self._since, self._latest = known, []
        if known == self._since:
            self._latest.append(record)
        self._ended |= record["what"] == "stop"

    def lacks(self, record: Record) -> bool:
        """Whether the record is still to be told."""
        if record["what"] in ("unmeasured", "stop"):  # written last, at a moment that is past
            return not self._ended
        known = _known(record)
        return known > self._since or (known == self._since and record not in self._latest)


def _known(record: Record) -> float:
    """Return when the record was written: a score is booked at an earlier moment than that."""
    return float(record["scored"] if "scored" in record else record["at"])
