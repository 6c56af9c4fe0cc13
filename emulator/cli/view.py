"""A run as a person watches it: one live panel on a terminal, plain lines elsewhere."""

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from ..runlog import Record
from .progress import Progress, amount

TOLD = ("start", "kill", "boot", "sever", "mend", "exit", "evaluation", "refused", "stop")
"""Records that are worth a line."""


def describe(record: Record) -> str:
    """A record as one line for people."""
    at, what, node = f"{record['at']:8.2f} s", record["what"], record.get("node", "")
    match what:
        case "evaluation":
            text = f"accuracy {record['accuracy']:.2%} after {record['updates']} updates"
            return f"{at}  {text}, {amount(record['push_bytes'])} pushed"
        case "start":
            return f"{at}  start: all {record['devices']} devices have said hello"
        case "kill" | "boot" | "sever" | "mend":
            return f"{at}  {what} {node} ({record['fault']}, planned for {record['planned']:.2f} s)"
        case "stop":
            detail = record.get("detail")
            return f"{at}  stop: {record['reason']}" + (f" ({detail})" if detail else "")
        case "exit":
            return f"{at}  {node} ended unasked: {record['reason']}"
        case "refused":
            return f"{at}  refused {node}: {record['reason']}"
    facts = " ".join(f"{k}={v}" for k, v in record.items() if k not in ("at", "what", "node"))
    return f"{at}  " + " ".join(filter(None, (what, node, facts)))


class PlainView:
    """A line for each thing that matters, and one for how it goes every `every` seconds."""

    def __init__(self, progress: Progress, console: Console, every: float = 10.0) -> None:
        self._progress, self._console, self._every = progress, console, every
        self._last, self._due = "", every

    def progress(self, text: str) -> None:
        # counting up is for those who can see it move
        step = text.split(" ", 1)[0]
        if step != self._last:
            self._console.print(f"{text} ...", highlight=False)
        self._last = step

    def record(self, record: Record) -> None:
        self._progress.take(record)
        if record["what"] in TOLD:
            self._console.print(describe(record), highlight=False)

    def beat(self, now: float) -> None:
        self._progress.beat(now)
        if now >= self._due:
            self._due = now + self._every
            self._console.print(f"{now:8.2f} s  {status(self._progress)}", highlight=False)

    def __enter__(self) -> "PlainView":
        return self

    def __exit__(self, *error: object) -> None:
        return None


def status(progress: Progress) -> str:
    of = f"/{progress.goal}" if progress.goal else ""
    return (
        f"{progress.updates}{of} updates, {progress.speed:.1f} updates/s, "
        f"{progress.up}/{len(progress.devices)} devices up, {amount(progress.pushed)} pushed"
    )


class LiveView:
    """One panel that stays in its place; what matters scrolls by above it."""

    def __init__(self, progress: Progress, console: Console, title: str) -> None:
        self._progress, self._title, self._step = progress, title, "starting"
        self._console = console
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=4)

    def progress(self, text: str) -> None:
        self._step = text

    def record(self, record: Record) -> None:
        self._progress.take(record)
        if record["what"] in TOLD:
            self._console.print(describe(record), highlight=False)
        if record["what"] == "start":
            self._step = ""

    def beat(self, now: float) -> None:
        self._progress.beat(now)

    def _draw(self) -> Panel:
        progress = self._progress
        if self._step:
            return Panel(f"{self._step} ...", title=self._title, title_align="left")
        accuracy = "not yet" if progress.accuracy is None else f"{progress.accuracy:.2%}"
        goal = f" of {progress.goal}" if progress.goal else ""
        grid = Table.grid(padding=(0, 3))
        grid.add_row("time", f"{progress.now:.0f} s", "updates", f"{progress.updates}{goal}")
        grid.add_row("devices up", _devices(progress), "updates/s", f"{progress.speed:.1f}")
        grid.add_row("accuracy", accuracy, "pushed", amount(progress.pushed))
        grid.add_row("next fault", progress.next_fault, "refused", str(progress.refused))
        return Panel(grid, title=self._title, title_align="left")

    def __enter__(self) -> "LiveView":
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()


def _devices(progress: Progress) -> str:
    down = sorted(progress.off | progress.severed)
    if not down:
        return f"{progress.up}"
    names = ", ".join(down[:4]) + (" …" if len(down) > 4 else "")
    return f"{progress.up} (down: {names})"
