"""Playing of a study: every learning rate once, then the best rates with the other seeds.

Short runs are played one after another in a few processes: a sweep starts a process for each point,
which takes longer than a run of a few hundred updates.
"""

import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ...log.lines import read
from ...log.records import EvaluationRecord, StopRecord
from ...runs.conductor import ProgressView
from ...runs.results import write_json
from ...runtimes.virtual.play_virtual import play as play_run
from ...scenario import dump, loads
from .. import Finished, Point, SweepView, sweep
from ..preparation import warned
from ..sweep_folder import take
from .entries import Entry, Study
from .plans import PLANS

NOTE = "study.json"
"""File that lists the compared runs, for the tables; written last."""

PLANNED = "plans.json"
"""File with what a study computes without a run."""

SHORT = "short"
"""Folder inside the study's for the folders of short runs."""
_SUMMARY = "summary.json"
_EVERY = 50
"""Short runs between two lines on the view."""

_LAST = 4
"""Number of evaluations averaged for the final accuracy, as a single one is noisy."""


def play(study: Study, out: Path, cores: int, view: SweepView) -> None:
    """Play the points that `out` does not hold finished, and write `study.json`.

    An interrupted study continues when it is played again. Raises HostError if `out` has content
    that is not a study's.
    """
    take(out)
    if study.plans:
        view.progress("plans")
        write_json(out / PLANNED, PLANS[study.plans](study))
    search = study.search()
    tried = [point for _, _, point in search]
    brief = {point.label for entry, _, point in search if entry.short}
    for text in warned(tried):
        view.line(f"warning {text}")

    def played(points: Sequence[Point]) -> dict[str, Finished]:
        long = [point for point in points if point.label not in brief]
        short = [point for point in points if point.label in brief]
        swept = {point.label: point for point in sweep(long, out, cores, view)} if long else {}
        return swept | play_short(short, out, cores, view)

    finished = played(tried)
    best = _best(study, [(entry, rate, finished[point.label]) for entry, rate, point in search])
    compared = [("own", entry, rate) for entry, rate in best]
    compared += [("borrowed", entry, rate) for entry, rate in study.borrowed(best)]
    seeded = [(how, entry, rate, entry.seeded(rate)) for how, entry, rate in compared]
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


# -- short runs ------------------------------------------------------------------------------------


def play_short(
    points: Sequence[Point], out: Path, cores: int, view: SweepView
) -> dict[str, Finished]:
    """Play those of `points` that `out` does not hold, in `cores` processes.

    Return every point with its run folder, by label.
    """
    # another scenario has another folder
    folders = {p.label: out / SHORT / f"{p.name}-{p.digest[:8]}" for p in points}
    missing = [p for p in points if not (folders[p.label] / _SUMMARY).is_file()]
    if missing:
        jobs = [(dump(p.scenario), folders[p.label]) for p in missing]
        # forked threads of NumPy may hang, so the processes begin anew
        with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
            for number, _ in enumerate(pool.map(_play, jobs), 1):
                if number % _EVERY == 0 or number == len(jobs):
                    view.progress(f"short runs: {number} of {len(jobs)}")
    return {label: Finished(label, folder, {}) for label, folder in folders.items()}


def _play(job: tuple[str, Path]) -> None:
    """Play a scenario into a run folder, which appears complete or not at all."""
    text, folder = job
    playing = folder.with_name(f".{folder.name}")
    shutil.rmtree(playing, ignore_errors=True)
    made, _ = play_run(loads(text), playing, ProgressView(), cores=1)
    made.replace(folder)
    shutil.rmtree(playing)
