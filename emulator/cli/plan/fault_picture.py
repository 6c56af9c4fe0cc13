"""The picture of planned faults in a terminal: devices × time, a letter and a colour for a kind."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from rich.text import Text

from ...scenario.timeline.fault_plan import FaultPlan, PlannedFault
from ...units import three_digits
from .overview_tables import spans

MOST_LINES = 40
"""Largest number of rows: of more devices, several neighbours share a row."""

_LONGEST_LABEL = 24
_MOST_COLUMNS = 120
_HALF, _SOME = 0.5, 0.05
"""Shares of a cell from which a fault is a capital and a small letter; less is a colon."""
_NOTHING, _LITTLE = ".", ":"
_COLOURS = ("red", "magenta", "green", "blue", "yellow", "cyan", "bright_black", "bright_red")
_STEPS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000),
)
"""Seconds between two ticks of the time axis."""
_TICKS = 12
_UNITS = ((3600, "h"), (60, "min"), (1, "s"), (0.001, "ms"))
"""Seconds of each unit of the time axis, the largest first."""


class FaultPicture:
    """Draws a plan as lines of text, at most `width` characters wide."""

    def __init__(self, plan: FaultPlan, width: int) -> None:
        self._plan = plan
        # the server, if a fault strikes it, comes first, in a row of its own
        server, devices = plan.nodes[: -len(plan.devices)], plan.devices
        self._members = -(-len(devices) // MOST_LINES)
        first = range(0, len(devices), self._members)
        self._rows = [devices[start : start + self._members] for start in first]
        if server:
            self._rows.insert(0, server)
        labels = [spans(row)[:_LONGEST_LABEL] for row in self._rows]
        self._label = max(map(len, labels), default=0)
        self._labels = labels
        self._columns = max(10, min(_MOST_COLUMNS, width - self._label - 2))
        kinds = dict.fromkeys(fault.fault for fault in plan.faults)
        self._letters = _letters(kinds)
        self._colours = {kind: _COLOURS[n % len(_COLOURS)] for n, kind in enumerate(kinds)}

    def lines(self) -> Iterator[Text]:
        """Yield the lines from top to bottom: time axis, devices, legend."""
        yield from self._axis()
        cells = self._cells()
        for number, label in enumerate(self._labels):
            line = Text(f"{label:<{self._label}}  ")
            for column in range(self._columns):
                members = len(self._rows[number])
                line.append_text(self._cell(cells.get((number, column)), members))
            yield line
        yield self._legend()

    def _cells(self) -> dict[tuple[int, int], dict[str, float]]:
        """Return, by row, column and kind, the seconds for which faults hold devices."""
        row_of = {name: number for number, row in enumerate(self._rows) for name in row}
        wide = self._plan.end / self._columns
        cells: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for fault in self._plan.faults:
            for column, seconds in self._overlaps(fault, wide):
                cells[row_of[fault.node], column][fault.fault] += seconds
        return cells

    def _overlaps(self, fault: PlannedFault, wide: float) -> Iterator[tuple[int, float]]:
        """Yield the columns that `fault` touches, with the fault's seconds in the column."""
        until = fault.at + fault.lasts(self._plan.end)
        first = min(int(fault.at / wide), self._columns - 1)
        last = min(max(first, math.ceil(until / wide) - 1), self._columns - 1)
        for column in range(first, last + 1):
            begin, end = column * wide, (column + 1) * wide
            yield column, max(0.0, min(until, end) - max(fault.at, begin))

    def _cell(self, held: Mapping[str, float] | None, members: int) -> Text:
        """Return the cell of a row of `members` nodes that faults held for `held` seconds."""
        if not held:
            return Text(_NOTHING, "dim")
        kind = max(held, key=lambda each: held[each])
        share = held[kind] * self._columns / (self._plan.end * members)
        letter, colour = self._letters[kind], self._colours[kind]
        if share >= _HALF:
            return Text(letter.upper(), f"bold {colour} reverse")
        return Text(letter if share >= _SOME or members == 1 else _LITTLE, colour)

    def _axis(self) -> Iterator[Text]:
        """Yield a line with times and a line with their ticks."""
        end = self._plan.end
        room = max(2, min(_TICKS, self._columns // 10))
        step = next((step for step in _STEPS if end / step <= room), end / 2)
        times, ticks = [" "] * (self._columns + 12), [" "] * self._columns
        for number in range(int(end / step) + 1):
            column = int(number * step / end * self._columns)
            if column >= self._columns:
                break
            text = _in_unit(number * step, step)
            times[column : column + len(text)] = text
            ticks[column] = "'"
        for line in (times, ticks):
            yield Text(" " * (self._label + 2) + "".join(line).rstrip(), "dim")

    def _legend(self) -> Text:
        line = Text()
        for kind, letter in self._letters.items():
            line.append(f"{letter.upper()}", f"bold {self._colours[kind]} reverse")
            line.append(f" {kind}  ")
        each = "" if self._members == 1 else f"{self._members} devices a row; "
        wide = self._plan.end / self._columns
        line.append(f"({each}{_in_unit(wide, wide)} a column; capital: at least half of it", "dim")
        line.append("; colon: under 5 %)" if self._members > 1 else ")", "dim")
        return line


def _letters(kinds: Iterable[str]) -> dict[str, str]:
    """Return a letter for every kind: the first letter of the name that is still free."""
    taken: dict[str, str] = {}
    for kind in kinds:
        free = (letter for letter in kind + "abcdefghijklmnopqrstuvwxyz" if letter.isalpha())
        taken[kind] = next((letter for letter in free if letter not in taken.values()), "?")
    return taken


def _in_unit(seconds: float, step: float) -> str:
    """Return `seconds` in the largest unit that `step` seconds fill, with three digits."""
    scale, unit = next((unit for unit in _UNITS if step >= unit[0]), _UNITS[-1])
    return f"{three_digits(seconds / scale):g}{unit}"
