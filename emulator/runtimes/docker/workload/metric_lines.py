"""The metrics in the lines that a workload's programs print. Pure."""

import json
import math
import re
from collections.abc import Mapping

from ....scenario.sections.workload_section import number_of

LONGEST_LINE = 1 << 16
"""Characters of a line beyond which no metric is looked for."""

MOST_VALUES = 64
"""Largest number of metrics that one line gives; a line with more is text."""

LONGEST_NAME = 64
"""Characters of the name of a metric; a longer key is no metric."""


class MetricLines:
    """Finds metrics in lines: the numbers of a JSON object, and what patterns match."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        """`patterns` are regular expressions with one group each, by the metric's name."""
        self._patterns = {name: re.compile(pattern) for name, pattern in patterns.items()}

    def values(self, line: str) -> dict[str, float]:
        """Return the metrics of `line` by name; empty if it has none.

        Programs print what they like: a line that looks like JSON and is none is text.
        """
        if len(line) > LONGEST_LINE:
            return {}
        found = _numbers(line)
        for name, pattern in self._patterns.items():
            match = pattern.search(line)
            if match and (number := number_of((match[1] or "").strip())) is not None:
                found[name] = number
        return found


def _numbers(line: str) -> dict[str, float]:
    """Return the finite numbers of the JSON object in `line` by their keys."""
    text = line.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    found = {
        name: float(value)
        for name, value in content.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and len(name) <= LONGEST_NAME
        and abs(value) < 1e300
        and math.isfinite(value)
    }
    return found if len(found) <= MOST_VALUES else {}
