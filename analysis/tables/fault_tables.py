"""The tables of a report on what came of faults, from the summary of the run."""

from typing import Any

from ..quantities import figures, percent, seconds
from ..reading.runs import Run

Row = tuple[str, ...]

_WINDOWS = ("before", "during", "after")


def by_kind(run: Run) -> list[Row]:
    """Return a row for each kind of fault.

    The columns: kind, count, devices, seconds, faults compared, and updates/s in three windows.
    """
    kinds = _effects(run).get("kinds") or {}
    return [
        (
            *(kind, f"{own['count']:,}", f"{own['devices']:,}", seconds(own["seconds"])),
            f"{own.get('compared', own['count']):,}",
            *(_rate(own["updates_per_s"][window]) for window in _WINDOWS),
        )
        for kind, own in kinds.items()
    ]


def traffic_by_kind(run: Run) -> list[Row]:
    """Return a row for each kind of fault: kB/s pushed, pulled and of both in three windows.

    Both have the activations of a cut model.
    """
    kinds = _effects(run).get("kinds") or {}
    return [(kind, *_ways(own)) for kind, own in kinds.items()]


def _ways(own: dict[str, Any]) -> list[str]:
    pushed, pulled, *crossed = (
        [own[way][window] for window in _WINDOWS]
        for way in ("push_bytes_per_s", "pull_bytes_per_s", "activation_bytes_per_s")
        if way in own
    )
    both = [
        None if None in ways else sum(ways) for ways in zip(pushed, pulled, *crossed, strict=True)
    ]
    return [_rate(value, 1e-3) for value in (*pushed, *pulled, *both)]


def one_by_one(run: Run) -> list[Row]:
    """Return a row for each fault that the summary lists, in the order of their begin."""
    return [_fault(own) for own in _effects(run).get("faults") or []]


def unlisted(run: Run) -> int:
    """Return the number of faults that the summary does not list one by one."""
    return int(_effects(run).get("unlisted") or 0)


def _effects(run: Run) -> dict[str, Any]:
    found = run.summary.get("fault_effects")
    return found if isinstance(found, dict) else {}


def _fault(own: dict[str, Any]) -> Row:
    until = "the end" if own["until"] is None else f"{own['until']:.3f}"
    return (
        *(own["kind"], own["node"], f"{own['planned']:.3f}", f"{own['at']:.3f}", until),
        *(_rate(own["updates_per_s"][window]) for window in _WINDOWS),
        *_scores(own),
    )


def _scores(own: dict[str, Any]) -> list[str]:
    """Return the accuracy, or the error of a regression, in the three windows."""
    if "error" in own:
        return [_rate(own["error"][window]) for window in _WINDOWS]
    return [_share(own["accuracy"][window]) for window in _WINDOWS]


def _rate(value: float | None, scale: float = 1.0) -> str:
    return "–" if value is None else figures(scale * value)


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value, 2)
