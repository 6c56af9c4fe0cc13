"""Views of a sweep or a tuning: a live panel on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...runs.cancel import Canceled, canceling
from .progress import span

if TYPE_CHECKING:
    from ...sweeps import Finished, Standing

MOST_SHOWN = 16
"""Largest number of running points that the panel names."""


def describe_point(point: "Finished", now: "Standing") -> str:
    """Return a line on the finished `point`, which begins with the count of finished points."""
    row = point.row
    final, error = row["final_accuracy"], row.get("final_error")
    score = "" if final is None else f"{final:.2%} "
    score = score if error is None else f"mean absolute error {error:.4g} "
    outcome = "" if row["outcome"] == "success" else f", {row['outcome']} ({row['stop']})"
    result = f"{score}after {row['updates']} updates{outcome}"
    return f"{now.finished}/{now.total}  {point.label}: {result}"


class PlainSweepView:
    """Prints a line for every finished point, and a line on the progress every `every` seconds."""

    def __init__(
        self, console: Console, every: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._every, self._clock = console, every, clock
        self._due = clock() + every

    def progress(self, text: str) -> None:
        self.line(f"{text} ...")

    def line(self, text: str) -> None:
        """Print `text`."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def standing(self, now: "Standing") -> None:
        if self._clock() >= self._due:
            self._due = self._clock() + self._every
            playing = "; ".join(f"{label}: {state}" for label, state in now.playing)
            self.line(f"{summary(now)}; {playing}")

    def finished(self, point: "Finished", now: "Standing") -> None:
        self.line(describe_point(point, now))

    def __enter__(self) -> "PlainSweepView":
        return self

    def __exit__(self, *error: object) -> None:
        return None


class LiveSweepView:
    """A panel that stays in place on a terminal, with finished points scrolling above the panel."""

    def __init__(self, console: Console) -> None:
        self._console, self._step = console, "starting"
        self._now: Standing | None = None
        # the panel disappears at the end: a table of the results takes its place
        self._live = Live(
            console=console, get_renderable=self._draw, refresh_per_second=4, transient=True
        )

    def progress(self, text: str) -> None:
        self._step = text

    def line(self, text: str) -> None:
        """Print `text` above the panel."""
        self._console.print(text, highlight=False, markup=False)

    def standing(self, now: "Standing") -> None:
        self._now = now

    def finished(self, point: "Finished", now: "Standing") -> None:
        self.line(describe_point(point, now))

    def _draw(self) -> Panel:
        if self._now is None:
            return Panel(Text(f"{self._step} ..."), title="sweep", title_align="left")
        grid = Table.grid(padding=(0, 3))
        for label, state in self._now.playing[:MOST_SHOWN]:
            grid.add_row(Text(label), state)
        if (more := len(self._now.playing) - MOST_SHOWN) > 0:
            grid.add_row(f"and {more} more", "")
        return Panel(grid, title=summary(self._now), title_align="left")

    def __enter__(self) -> "LiveSweepView":
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()


@contextmanager
def shown(
    out: Console, interrupted: str, every: float = 30.0
) -> Iterator[PlainSweepView | LiveSweepView]:
    """Show on `out` what the block plays; off a terminal, tell its progress every `every` seconds.

    A signal ends the block and the command, with exit code 130, after the words `interrupted`.
    """
    try:
        with (
            LiveSweepView(out) if out.is_terminal else PlainSweepView(out, every) as view,
            canceling(),
        ):
            yield view
    except Canceled:
        click.echo(f"emulate: interrupted: {interrupted}", err=True)
        sys.exit(130)


def summary(now: "Standing") -> str:
    """Return the number of finished points and the estimated rest of the sweep."""
    left = "" if now.left is None else f", about {span(now.left)} left"
    return f"{now.finished} of {now.total} points finished{left}"
