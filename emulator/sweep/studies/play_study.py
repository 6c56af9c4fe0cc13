"""Plays a study: first every learning rate once, then what was best with the other seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...log.writing import read
from ...runs.results import write_json
from .. import Finished, Point, SweepView, sweep
from .entries import Entry, Study

NOTE = "study.json"
"""What was compared with what, for who makes a table of it; written last."""

_LAST = 4
"""Evaluations whose mean is the accuracy that a run ended with: a single one is noisy."""


def play(study: Study, out: Path, cores: int, view: SweepView) -> None:
    """Play what `out` does not hold finished, and write down what it comes to.

    Interrupted, it goes on where it was when it is called again.
    """
    search = study.search()
    tried = [point for _, _, point in search]
    found = {one.label: one for one in sweep(tried, out, cores, view)}
    best = _best(study, [(entry, rate, found[point.label]) for entry, rate, point in search])
    compared = [("own", *one) for one in best]
    compared += [("borrowed", *one) for one in study.borrowed(best)]
    seeded = [(how, entry, rate, study.seeded(entry, rate)) for how, entry, rate in compared]
    points = {point.label: point for point in tried}
    points |= {point.label: point for *_, seeds in seeded for point in seeds}
    found = {one.label: one for one in sweep(list(points.values()), out, cores, view)}

    def plain(entry: Entry, rate: str, seeds: Sequence[Point]) -> dict[str, Any]:
        runs = [found[point.label].folder.relative_to(out) for point in seeds]
        return {"world": entry.world, "entry": entry.name, "rate": rate, "runs": [*map(str, runs)]}

    note = {
        "study": study.name,
        "rows": [{"how": how, **plain(entry, rate, seeds)} for how, entry, rate, seeds in seeded],
        "tried": [plain(entry, rate, [point]) for entry, rate, point in search],
    }
    write_json(out / NOTE, note)


def _best(study: Study, tried: Sequence[tuple[Entry, str, Finished]]) -> list[tuple[Entry, str]]:
    """Each entry with its best rate, in their order."""
    best: dict[tuple[str, str], tuple[tuple[float, float], Entry, str]] = {}
    for entry, rate, finished in tried:
        merit = _merit(finished.folder, study.target)
        key = entry.world, entry.name
        if key not in best or merit > best[key][0]:
            best[key] = merit, entry, rate
    return [(entry, rate) for _, entry, rate in best.values()]


def _merit(folder: Path, target: float) -> tuple[float, float]:
    """More is better: how soon the target was reached, then how well it ended."""
    records = list(read(folder / "run.jsonl"))
    evaluations = [one for one in records if one["what"] == "evaluation"]
    diverged = any(one["what"] == "stop" and one["reason"] == "diverged" for one in records)
    # JSON has null for what was not finite
    curve = [(one["updates"], one["accuracy"] or 0.0) for one in evaluations]
    soon = next((-updates for updates, accuracy in curve if accuracy >= target), -float("inf"))
    last = [accuracy for _, accuracy in curve[-_LAST:]]
    return soon, 0.0 if diverged or not last else sum(last) / len(last)
