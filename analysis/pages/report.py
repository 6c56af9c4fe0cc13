"""The report of a run: a single page to read on a screen, print or send."""

from collections.abc import Sequence
from pathlib import Path

from ..facts import bottlenecks, group_updates, link_fidelity, network
from ..facts.message_bytes import held_evaluations_with_bytes
from ..pictures.drawing import SCREEN
from ..pictures.picture_file import Print
from ..reading.protocol import is_regression, sentence
from ..reading.runs import Run, read
from ..tables import byte_tables, device_tables, fault_tables, sections
from . import page
from .run_warnings import host_verdict, kept_up, warnings

_OUTCOMES = {
    "stopped": "The run was ended early by `emulate stop`; its records until then are complete.",
    "canceled": "The run was interrupted; the report shows its records until then.",
    "failed": "The run failed; the report shows its records until then.",
    "unfinished": "The run has no summary: it is still going, or was killed.",
}


def report(folder: Path | str, own: Sequence[page.OwnFigure] = (), prints: Print = SCREEN) -> Path:
    """Write `report.html` and the files of its figures into the run's `folder`; return the page.

    Figures of users, `own`, follow those of every report. `prints` is for the files alone.
    The page is self-contained: no address in it leads out of the folder. A partial run gives a
    partial page with a notice. Raises RunError if `folder` is no run's folder.
    """
    run = read(folder)
    # the figures come first, because the page lists the files of the folder
    pictures = draw(run, own, run.folder / "figures", prints)
    return page.write("report.html", run.folder / "report.html", **_content(run), figures=pictures)


def draw(
    run: Run, own: Sequence[page.OwnFigure], folder: Path, prints: Print = SCREEN
) -> list[page.Picture]:
    """Write the figures of `run`, and a user's `own`, into `folder`, and return them for a page."""
    pictures = page.figures([run], folder, prints)
    return pictures + [page.own_picture(figure, run, folder, prints) for figure in own]


def _content(run: Run) -> dict[str, object]:
    return {
        "title": run.name,
        "outcome": run.outcome,
        "ending": _ending(run),
        "kept_up": kept_up(run),
        "host_verdict": host_verdict(run),
        "warnings": warnings(run),
        "headline": sections.headline(run),
        "protocol": sentence(run),
        "trains": not run.workload,
        "scored": not held_evaluations_with_bytes(run).empty,
        "facts": sections.facts(run),
        "directions": byte_tables.directions(run),
        "kinds": byte_tables.kinds(run),
        "crossed": byte_tables.at_the_cut(run),
        "models": byte_tables.models(run),
        "reconciled": byte_tables.bytes_reconciled(run),
        "remainder": byte_tables.remainder(run),
        "group_updates": group_updates.efficiency_rows(run),
        "schedules": device_tables.schedules(run),
        "bottlenecks": bottlenecks.sentences(run),
        "bottleneck_lines": bottlenecks.lines(run),
        "bottleneck_members": bottlenecks.members(run),
        "network_lines": network.rows(run),
        "score": "error" if is_regression(run) else "accuracy",
        "effects": fault_tables.by_kind(run),
        "effects_traffic": fault_tables.traffic_by_kind(run),
        "fault_effects": fault_tables.one_by_one(run),
        "effects_unlisted": fault_tables.unlisted(run),
        "faults": sections.faults(run),
        "faults_left_out": sections.faults_left_out(run),
        "faults_to_come": sections.faults_to_come(run),
        "links": device_tables.links(run),
        "fidelity": sections.fidelity(run),
        "hosts": device_tables.hosts_table(run),
        "host_load": not run.records("host").empty,
        "link_verdicts": link_fidelity.link_verdicts(run),
        "links_unlisted": link_fidelity.links_unlisted(run),
        "missed_links": link_fidelity.missed_links(run),
        "devices": device_tables.per_device(run),
        "device_columns": device_tables.device_columns(run),
        "groups": group_updates.per_group(run),
        "files": sections.files(run),
    }


def _ending(run: Run) -> str:
    """Return sentences on the outcome of `run` and its end."""
    end = sections.ended_by(run)
    again = "`emulate resume` goes on with it." if run.summary.get("resumable") else ""
    told = (_OUTCOMES.get(run.outcome, ""), f"Ended by {end}." if end else "", again)
    return " ".join(filter(None, told))
