"""A sweep as a person watches it: a live panel on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ...sweep import Finished, Standing

SHOWN = 16
"""Points that are being played, at most, that the panel names."""


def told(one: "Finished", now: "Standing") -> str:
    """A finished point as one line for people."""
    row = one.row
    accuracy = row["final_accuracy"]
    came = "" if accuracy is None else f"{accuracy:.2%} "
    outcome = "" if row["outcome"] == "success" else f", {row['outcome']} ({row['stop']})"
    return f"{now.finished}/{now.total}  {one.label}: {came}after {row['updates']} updates{outcome}"


class PlainSweepView:
    """A line for each point that is finished, and one for how it goes every `every` seconds."""

    def __init__(
        self, console: Console, every: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._every, self._clock = console, every, clock
        self._due = clock() + every

    def progress(self, text: str) -> None:
        self._say(f"{text} ...")

    def standing(self, now: "Standing") -> None:
        if self._clock() >= self._due:
            self._due = self._clock() + self._every
            far = "; ".join(f"{label}: {far}" for label, far in now.playing)
            self._say(f"{count(now)}; {far}")

    def finished(self, one: "Finished", now: "Standing") -> None:
        self._say(told(one, now))

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def __enter__(self) -> "PlainSweepView":
        return self

    def __exit__(self, *error: object) -> None:
        return None


class LiveSweepView:
    """One panel that stays in its place; finished points scroll by above it."""

    def __init__(self, console: Console) -> None:
        self._console, self._step = console, "starting"
        self._now: Standing | None = None
        # gone at the end: what came of it is a table
        self._live = Live(
            console=console, get_renderable=self._draw, refresh_per_second=4, transient=True
        )

    def progress(self, text: str) -> None:
        self._step = text

    def standing(self, now: "Standing") -> None:
        self._now = now

    def finished(self, one: "Finished", now: "Standing") -> None:
        self._console.print(told(one, now), highlight=False, markup=False)

    def _draw(self) -> Panel:
        if self._now is None:
            return Panel(Text(f"{self._step} ..."), title="sweep", title_align="left")
        grid = Table.grid(padding=(0, 3))
        for label, far in self._now.playing[:SHOWN]:
            grid.add_row(Text(label), far)
        if (more := len(self._now.playing) - SHOWN) > 0:
            grid.add_row(f"and {more} more", "")
        return Panel(grid, title=count(self._now), title_align="left")

    def __enter__(self) -> "LiveSweepView":
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()


def count(now: "Standing") -> str:
    """How far all of it is."""
    left = "" if now.left is None else f", about {span(now.left)} left"
    return f"{now.finished} of {now.total} points finished{left}"


def span(seconds: float) -> str:
    """A time as people reckon it: 40 s, 12 min, 3 h 20 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
