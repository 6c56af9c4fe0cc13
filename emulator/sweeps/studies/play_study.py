"""Playing of a study: every learning rate once, then the best rates with the other seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...log.lines import read
from ...log.records import EvaluationRecord, StopRecord
from ...runs.results import write_json
from .. import Finished, Point, SweepView, sweep
from ..preparation import warned
from ..sweep_folder import take
from .entries import Entry, Study
from .short_runs import play_short

NOTE = "study.json"
"""File that lists the compared runs, for the tables; written last."""

PLANS = "plans.json"
"""File with what a study computes without a run."""

_LAST = 4
"""Number of evaluations averaged for the final accuracy, as a single one is noisy."""


def play(study: Study, out: Path, cores: int, view: SweepView) -> None:
    """Play the points that `out` does not hold finished, and write `study.json`.

    An interrupted study continues when it is played again. Raises HostError if `out` has content
    that is not a study's.
    """
    take(out)
    if study.plans is not None:
        view.progress("plans")
        made = study.plans(study.file())
        write_json(out / PLANS, made)
    search = study.search()
    tried = [point for _, _, point in search]
    brief = {point.label for entry, _, point in search if entry.short}
    for text in warned(tried):
        view.progress(f"warning {text}")

    def played(points: Sequence[Point]) -> dict[str, Finished]:
        long = [point for point in points if point.label not in brief]
        short = [point for point in points if point.label in brief]
        swept = {point.label: point for point in sweep(long, out, cores, view)} if long else {}
        return swept | play_short(short, out, cores, view)

    finished = played(tried)
    best = _best(study, [(entry, rate, finished[point.label]) for entry, rate, point in search])
    compared = [("own", entry, rate) for entry, rate in best]
    compared += [("borrowed", entry, rate) for entry, rate in study.borrowed(best)]
    seeded = [(how, entry, rate, study.seeded(entry, rate)) for how, entry, rate in compared]
    points = {point.label: point for point in tried}
    points |= {point.label: point for *_, seeds in seeded for point in seeds}
    brief |= {p.label for _, entry, _, seeds in seeded for p in seeds if entry.short}
    finished = played(list(points.values()))

    def plain(entry: Entry, rate: str, seeds: Sequence[Point]) -> dict[str, Any]:
        runs = [finished[point.label].folder.relative_to(out) for point in seeds]
        return {"world": entry.world, "entry": entry.name, "rate": rate, "runs": [*map(str, runs)]}

    note = {
        "study": study.name,
        "rows": [{"how": how, **plain(entry, rate, seeds)} for how, entry, rate, seeds in seeded],
        "tried": [plain(entry, rate, [point]) for entry, rate, point in search],
    }
    write_json(out / NOTE, note)


def _best(study: Study, tried: Sequence[tuple[Entry, str, Finished]]) -> list[tuple[Entry, str]]:
    """Return every entry with its best rate, in order."""
    best: dict[tuple[str, str], tuple[tuple[float, float], Entry, str]] = {}
    for entry, rate, finished in tried:
        merit = _merit(finished.folder, study.target)
        key = entry.world, entry.name
        if key not in best or merit > best[key][0]:
            best[key] = merit, entry, rate
    return [(entry, rate) for _, entry, rate in best.values()]


def _merit(folder: Path, target: float) -> tuple[float, float]:
    """Return a merit, higher is better: how soon `target` was reached, then the final accuracy."""
    records = list(read(folder / "run.jsonl"))
    evaluations = [record for record in records if isinstance(record, EvaluationRecord)]
    stops = [record for record in records if isinstance(record, StopRecord)]
    diverged = any(stop.reason == "diverged" for stop in stops)
    curve = [(evaluation.updates, evaluation.accuracy or 0.0) for evaluation in evaluations]
    soon = next((-updates for updates, accuracy in curve if accuracy >= target), -float("inf"))
    last = [accuracy for _, accuracy in curve[-_LAST:]]
    return soon, 0.0 if diverged or not last else sum(last) / len(last)
