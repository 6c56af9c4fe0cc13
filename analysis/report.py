"""One run on one page, to read on any screen, print, and send as a single file."""

from pathlib import Path

from . import byte_tables, device_tables, page, sections
from .doubts import doubts, kept_up
from .protocol import sentence
from .runs import Run, read

_OUTCOMES = {
    "stopped": "Someone asked for the end of the run; what it did until then is complete.",
    "canceled": "The run was broken off by hand; what it did until then is below.",
    "failed": "The run failed; what it did until then is below.",
    "unfinished": "The run has written no summary: it is still going, or was killed.",
}


def report(folder: Path | str) -> Path:
    """Write `report.html` into a run's folder, and its figures as PNG; return the page's path.

    The page is self-contained: no address in it leads out of the folder. A partial run gives
    a partial page that says so. Raises a RunError for what is no run's folder.
    """
    run = read(folder)
    pictures = page.figures([run], run.folder / "figures")  # first: the page lists the files
    return page.write("report.html", run.folder / "report.html", **_content(run), figures=pictures)


def _content(run: Run) -> dict[str, object]:
    return {
        "title": run.name,
        "outcome": run.outcome,
        "told": _told(run),
        "kept_up": kept_up(run),
        "doubts": doubts(run),
        "headline": sections.headline(run),
        "protocol": sentence(run),
        "facts": sections.facts(run),
        "kinds": byte_tables.kinds(run),
        "models": byte_tables.models(run),
        "reconciled": byte_tables.bytes_reconciled(run),
        "remainder": byte_tables.remainder(run),
        "faults": sections.faults(run),
        "faults_left_out": sections.faults_left_out(run),
        "faults_to_come": sections.faults_to_come(run),
        "links": device_tables.links(run),
        "fidelity": sections.fidelity(run),
        "devices": device_tables.per_device(run),
        "files": sections.files(run),
    }


def _told(run: Run) -> str:
    end = sections.ended_by(run)
    return f"{_OUTCOMES.get(run.outcome, '')} {f'Ended by {end}.' if end else ''}".strip()
