"""The links of a run in containers: achieved against requested, by the summary."""

from typing import Any

from .quantities import figures
from .runs import Run

Row = tuple[str, ...]

_STYLES = {"missed": "bad"}


def link_verdicts(run: Run) -> list[Row]:
    """Return a row for each direction of a link: style, device, direction, rate, delay, jitter,
    loss, verdict, reason."""
    return [_row(row) for row in _links(run)]


def links_unlisted(run: Run) -> int:
    """Return the number of further directions, which the summary counts only."""
    count = _fidelity(run).get("links_unlisted")
    return count if isinstance(count, int) else 0


def missed_links(run: Run) -> int:
    """Return the number of directions that missed what was requested."""
    return sum(row.get("verdict") == "missed" for row in _links(run))


def _fidelity(run: Run) -> dict[str, Any]:
    fidelity = run.summary.get("fidelity")
    return fidelity if isinstance(fidelity, dict) else {}


def _links(run: Run) -> list[dict[str, Any]]:
    rows = _fidelity(run).get("links")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _row(row: dict[str, Any]) -> Row:
    verdict = str(row.get("verdict", ""))
    return (
        _STYLES.get(verdict, ""),
        str(row.get("node", "")),
        str(row.get("way", "")),
        _pair(row.get("rate"), 1e-6),
        _pair(row.get("delay"), 1e3),
        _pair(row.get("jitter"), 1e3),
        _pair(row.get("loss"), 1e2),
        verdict,
        str(row.get("reason", "")),
    )


def _pair(facts: Any, scale: float) -> str:
    """Return `requested → achieved` in the unit of `scale`; empty for no request."""
    if not isinstance(facts, dict):
        return ""
    return f"{_number(facts.get('requested'), scale)} → {_number(facts.get('achieved'), scale)}"


def _number(value: Any, scale: float) -> str:
    return figures(value * scale) if isinstance(value, int | float) else "–"
