"""Playing of studies: every learning rate once, then each entry's best rate with the other seeds.

The other seeds of an entry begin as soon as its own rates are played.
"""

import json
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...costs.calibration.record import here
from ...log.lines import parse
from ...log.records import EvaluationRecord, StopRecord
from ...runs.results import write_json
from .. import Finished, Point, SweepView
from ..deciding_code import Code, code_of, deciding_code
from ..players import Players
from ..point_note import NOTE as POINT_NOTE
from ..point_note import DamagedError, read_note
from ..pool import play_batches
from ..preparation import warned
from ..sweep_folder import take
from .entries import Entry, Study
from .plans import PLANS

NOTE = "study.json"
"""File that lists the compared runs, for the tables; written last."""

PLANNED = "plans.json"
"""File with what a study computes without a run."""

_Key = tuple[str, str, str]
"""World, name and runtime of an entry."""

_LAST = 4
"""Number of evaluations averaged for the final accuracy, as a single one is noisy."""


def play(
    studies: Mapping[Path, Study],
    by: Players,
    view: SweepView,
    *,
    runs: Path | None = None,
    quick: bool = False,
) -> None:
    """Play the points that the folders of `studies` do not hold finished, and write `study.json`
    into each.

    Interrupted studies continue when they are played again. Points that other sweeps and studies in
    the folder `runs` have finished are taken over. `quick` is noted in `study.json`. Raises
    HostError if a folder has content that is not a study's.
    """
    batches = [_StudyBatch(study, out) for out, study in studies.items()]
    points = [point for batch in batches for point in batch.first()]
    for text in warned(points):
        view.line(f"warning {text}")
    for batch in batches:
        if batch.out.exists():
            take(batch.out)
            (batch.out / NOTE).unlink(missing_ok=True)  # its runs may be played anew
    play_batches(batches, by.cores, view, runs=runs, start=by.start)
    for batch in batches:
        batch.plan(view)
        played = played_by(by.cores)
        write_json(batch.out / NOTE, {**batch.note(), "quick": quick, "played": played})


def points_played(study: Study, out: Path) -> tuple[int, int]:
    """Return how many points the folder `out` of `study` holds, and how many the study has.

    A study that is not played yet may have some more, for entries at the best rate of others.
    """
    try:
        rows = json.loads((out / NOTE).read_bytes())
        runs = {run for key in ("rows", "tried") for row in rows[key] for run in row["runs"]}
    except (OSError, ValueError, LookupError, TypeError):
        count = sum(len(entry.rates) + entry.seeds - 1 for entry in study.entries)
        return sum(1 for _ in _notes(out)), count
    return len(runs), len(runs)


def points_to_play(study: Study, out: Path) -> int:
    """Return how many points of `study` its folder `out` lacks or has damaged or by other code.

    The number is that of `points_played` for a study that is not played yet.
    """
    played, of_all = points_played(study, out)
    now = deciding_code()
    return of_all - played + sum(not _of_code(note.parent, now) for note in _notes(out))


def _of_code(folder: Path, code: Code) -> bool:
    """Return whether the point in `folder` has a sound note, and was played by this `code`."""
    try:
        note = read_note(folder)
    except DamagedError:
        return False
    return note is not None and code_of(note) == code


def _notes(out: Path) -> Iterator[Path]:
    """Yield the notes of the points in the folder `out` of a study."""
    yield from out.glob(f"points/*/{POINT_NOTE}")


class _StudyBatch:
    """The points of a study: those of all rates first, then the other seeds of the best rates."""

    def __init__(self, study: Study, out: Path) -> None:
        self.study, self.out = study, out
        self.about: Mapping[str, Any] = {}
        self._finished: dict[str, Finished] = {}
        self._best: dict[_Key, str] = {}
        """Best rate of each entry."""
        self._seeds: dict[tuple[_Key, str], list[Point]] = {}
        """Points of all seeds by entry and rate: to load a scenario takes time."""

    def plan(self, view: SweepView) -> None:
        """Write what the study computes without a run."""
        if self.study.plans:
            view.progress(f"{self.study.name}: plans")
            write_json(self.out / PLANNED, PLANS[self.study.plans](self.study))

    @cached_property
    def _search(self) -> list[tuple[Entry, str, Point]]:
        return self.study.search()

    @cached_property
    def _points(self) -> dict[str, Point]:
        """The points by label: those of the search, then those of the other seeds as well."""
        return {point.label: point for _, _, point in self._search}

    @cached_property
    def _tried(self) -> dict[_Key, list[tuple[str, Point]]]:
        """Rates and points of each entry."""
        tried: dict[_Key, list[tuple[str, Point]]] = {}
        for entry, rate, point in self._search:
            tried.setdefault(entry.key, []).append((rate, point))
        return tried

    def first(self) -> Sequence[Point]:
        return [point for _, _, point in self._search]

    def then(self, finished: Finished) -> Sequence[Point]:
        """Return the other seeds of an entry once its last rate is `finished`."""
        self._finished[finished.label] = finished
        new: list[Point] = []
        for entry in self.study.entries:
            key = entry.key
            tried = self._tried[key]
            if key in self._best or finished.label not in {point.label for _, point in tried}:
                continue
            if all(point.label in self._finished for _, point in tried):
                self._best[key] = self._best_rate(tried)
                new += self._new_points()
        return new

    def _best_rate(self, tried: Sequence[tuple[str, Point]]) -> str:
        """Return the rate with the highest merit; among equals, the first."""
        merits = {
            rate: _merit(self._finished[point.label].folder, self.study.target)
            for rate, point in tried
        }
        return max(merits, key=lambda rate: merits[rate])

    def _compared(self) -> list[tuple[str, Entry, str]]:
        """Return the rows known so far: how an entry has its rate, the entry, the rate."""
        best = [(e, self._best[e.key]) for e in self.study.entries if e.key in self._best]
        own = [("own", entry, rate) for entry, rate in best]
        return own + [("borrowed", entry, rate) for entry, rate in self.study.borrowed(best)]

    def _seeded(self, entry: Entry, rate: str) -> list[Point]:
        """Return the points of `entry` at `rate` for all seeds."""
        key = entry.key, rate
        if key not in self._seeds:
            self._seeds[key] = entry.seeded(rate)
        return self._seeds[key]

    def _new_points(self) -> list[Point]:
        """Return the points of the rows known so far that are not among the study's yet."""
        seeded = [
            point for _, entry, rate in self._compared() for point in self._seeded(entry, rate)
        ]
        new = {point.label: point for point in seeded if point.label not in self._points}
        self._points |= new
        return list(new.values())

    def later(self) -> Sequence[Point]:
        later = []
        for entry in self.study.entries:
            key = entry.key
            _, like = self._tried[key][0]
            if key not in self._best:
                later += [like] * (entry.seeds - 1)
            for name, lender in self.study.also:
                both = {key, (entry.world, lender, entry.on)}
                unknown = both <= self._tried.keys() and not both <= self._best.keys()
                if entry.name == name and unknown:
                    later += [like] * entry.seeds
        return later

    def note(self) -> dict[str, Any]:
        """Return the rows of the tables, and the rates that were tried, with their runs."""
        rows = [
            {"how": how, **self._row(entry, rate, self._seeded(entry, rate))}
            for how, entry, rate in self._compared()
        ]
        tried = [self._row(entry, rate, [point]) for entry, rate, point in self._search]
        return {"study": self.study.name, "rows": rows, "tried": tried}

    def _row(self, entry: Entry, rate: str, points: Sequence[Point]) -> dict[str, Any]:
        folders = [self._finished[point.label].folder for point in points]
        runs = [folder.relative_to(self.out).as_posix() for folder in folders]
        world = {"world": entry.world, "entry": entry.name, "rate": rate}
        on = {"on": entry.on} if entry.in_containers else {}
        return {**world, **on, "over": dict(entry.over), "runs": runs}


def _merit(folder: Path, target: float) -> tuple[float, float]:
    """Return a merit, higher is better: how soon `target` was reached, then the final accuracy."""
    with (folder / "run.jsonl").open("rb") as lines:
        # a log may have a hundred thousand updates, which are not parsed
        records = [parse(text) for text in lines if b'"evaluation"' in text or b'"stop"' in text]
    evaluations = [record for record in records if isinstance(record, EvaluationRecord)]
    stops = [record for record in records if isinstance(record, StopRecord)]
    diverged = any(stop.reason == "diverged" for stop in stops)
    curve = [(evaluation.updates, evaluation.accuracy or 0.0) for evaluation in evaluations]
    soon = next((-updates for updates, accuracy in curve if accuracy >= target), -float("inf"))
    last = [accuracy for _, accuracy in curve[-_LAST:]]
    return soon, 0.0 if diverged or not last else sum(last) / len(last)


def played_by(cores: int) -> dict[str, Any]:
    """Return the machine and the version that play on so many `cores`, for the protocol."""
    _, processor = here()
    machine = f"{processor}, {platform.system()} {platform.release()}"
    facts = {"machine": machine, "cores": cores, "version": version("edge-emulate")}
    return {**facts, "commit": _commit()}


def _commit() -> str | None:
    """Return the commit of the checkout, with `-dirty` after changes; None without a checkout."""
    checkout = Path(__file__).parents[3]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"]
    try:
        said = subprocess.run(command, cwd=checkout, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return said.decode().strip() or None
