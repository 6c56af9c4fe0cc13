"""The links of a run in containers: achieved against requested, by the summary."""

from typing import Any

from ..quantities import figures
from ..reading.runs import Run
from .bottlenecks import bottlenecks

Row = tuple[str, ...]

_STYLES = {"missed": "bad"}
_PROPERTIES = ("rate", "delay", "jitter", "loss")
_OPEN = "not judged"


def link_verdicts(run: Run) -> list[Row]:
    """Return a row for each direction of a link: style, node, direction, rate, delay, jitter, loss,
    verdict, reason."""
    shared = {each.name: len(each.members) for each in bottlenecks(run)}
    return [_row(row, shared) for row in _links(run)]


def links_unlisted(run: Run) -> int:
    """Return the number of further directions, which the summary counts only."""
    count = run.fidelity.get("links_unlisted")
    return count if isinstance(count, int) else 0


def missed_links(run: Run) -> int:
    """Return the number of directions that missed what was requested."""
    return sum(row.get("verdict") == "missed" for row in _links(run))


def _links(run: Run) -> list[dict[str, Any]]:
    rows = run.fidelity.get("links")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _row(row: dict[str, Any], shared: dict[str, int]) -> Row:
    verdict, node = str(row.get("verdict", "")), str(row.get("node", ""))
    return (
        _STYLES.get(verdict, ""),
        f"{node}, shared by {shared[node]:,}" if node in shared else node,
        str(row.get("way", "")),
        _pair(row.get("rate"), 1e-6),
        _pair(row.get("delay"), 1e3),
        _pair(row.get("jitter"), 1e3),
        _pair(row.get("loss"), 1e2),
        _judged(verdict, row),
        str(row.get("reason", "")),
    )


def _judged(verdict: str, row: dict[str, Any]) -> str:
    """Return the `verdict` of a row, with the properties that it is not about."""
    facts = {name: row[name] for name in _PROPERTIES if isinstance(row.get(name), dict)}
    names = [name for name, each in facts.items() if each.get("verdict") == _OPEN]
    if not names or verdict == _OPEN:
        return verdict
    return f"{verdict}, but {' and '.join(names)} {_OPEN}"


def _pair(facts: Any, scale: float) -> str:
    """Return `requested → achieved` in the unit of `scale`; empty for no request."""
    if not isinstance(facts, dict):
        return ""
    return f"{_number(facts.get('requested'), scale)} → {_number(facts.get('achieved'), scale)}"


def _number(value: Any, scale: float) -> str:
    return figures(value * scale) if isinstance(value, int | float) else "–"
