"""Short runs of a study, played one after another in a few processes.

A sweep starts a process for each point, which takes longer than a run of a few hundred updates.
"""

import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ...log.records import Record
from ...runtimes.virtual.play_virtual import play
from ...scenario import Timed, dump, loads
from .. import Finished, Point, SweepView

FOLDER = "short"
"""Folder inside the study's for the run folders."""
_SUMMARY = "summary.json"
_EVERY = 50
"""Runs between two lines on the view."""


class _NoView:
    """A run view that shows nothing."""

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: Record) -> None: ...

    def beat(self, now: float) -> None: ...


def play_short(
    points: Sequence[Point], out: Path, cores: int, view: SweepView
) -> dict[str, Finished]:
    """Play those of `points` that `out` does not hold, in `cores` processes.

    Return every point with its run folder, by label.
    """
    found = {p.label: Finished(p.label, out / FOLDER / _name(p), {}) for p in points}
    missing = [p for p in points if not (found[p.label].folder / _SUMMARY).is_file()]
    if missing:
        jobs = [(dump(p.scenario), found[p.label].folder) for p in missing]
        # forked threads of NumPy may hang, so the processes begin anew
        with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
            for number, _ in enumerate(pool.map(_play, jobs), 1):
                if number % _EVERY == 0 or number == len(jobs):
                    view.progress(f"short runs: {number} of {len(jobs)}")
    return found


def _name(point: Point) -> str:
    """Return the name of the folder of `point`, another name for another scenario."""
    return f"{point.name}-{point.digest[:8]}"


def _play(job: tuple[str, Path]) -> None:
    """Play a scenario into a run folder, which appears complete or not at all."""
    text, folder = job
    playing = folder.with_name(f".{folder.name}")
    shutil.rmtree(playing, ignore_errors=True)
    made, _ = play(loads(text), playing, _NoView(), cores=1)
    made.replace(folder)
    shutil.rmtree(playing)
