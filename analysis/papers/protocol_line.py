"""The protocol of a study in one paragraph, without which no ratio has a meaning."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..quantities import percent
from .folder import Study
from .results import Results

_BYTES = "bytes as sent: values, indices, headers and framing"


def protocol(results: Results) -> str:
    """Return learning rates, target, seeds, bytes, step law, machine and commit as a paragraph."""
    study, target = results.study, results.declared.target
    goal = f"the first to reach {percent(target)} test accuracy in updates, else " * (target < 1)
    parts = [
        f"learning rates tried with one seed: {_rates(study)}",
        f"the best rate is {goal}the one with the highest accuracy at the end",
        _seeds(study),
        _BYTES,
        *_laws(results),
        f"base scenario `{results.declared.scenario}`",
        *played_by(study.played),
        *_containers(results),
    ]
    small = "**A smaller study, by `--quick`: its verdicts say little.** " if study.quick else ""
    return f"{small}{line(parts)}"


def line(parts: Sequence[str]) -> str:
    """Return the `parts` of a protocol as a paragraph."""
    return f"*Protocol:* {'; '.join(parts)}."


def _rates(study: Study) -> str:
    """Return the learning rates of each entry, entries with equal rates together."""
    by_entry: dict[str, list[str]] = {}
    for row in study.tried or study.rows:
        held = by_entry.setdefault(row.algorithm, [])
        held += [row.rate] if row.rate not in held else []
    together: dict[str, list[str]] = {}
    for entry, rates in by_entry.items():
        together.setdefault(", ".join(sorted(rates, key=float)), []).append(entry)
    if len(together) == 1:
        return next(iter(together))
    return "; ".join(f"{', '.join(entries)} {rates}" for rates, entries in together.items())


def _seeds(study: Study) -> str:
    counts = sorted({len(row.runs) for row in study.rows if not row.in_containers})
    if counts == [1]:
        return "one seed"
    spans = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{spans} seeds, of which values are the median (least – most)"


def _laws(results: Results) -> list[str]:
    """Return the laws of the time of a step, of all runs of the study.

    A study with tables of its own module has thousands of short runs, which are not read for it.
    """
    if not results.declared.tables:
        return []
    laws = dict.fromkeys(course.step for course in results.courses.values() if course.step)
    return [f"times of a step: {'; '.join(laws)}"] if laws and len(laws) <= 3 else []


def played_by(played: Mapping[str, Any], verb: str = "played") -> list[str]:
    """Return where and by which version results were `played`, if that is known."""
    if not played:
        return []
    commit = played.get("commit")
    by = f"version {played.get('version')}" + (f", commit `{commit[:12]}`" if commit else "")
    return [f"{verb} on {played.get('machine')}, {played.get('cores')} cores, by {by}"]


def _containers(results: Results) -> list[str]:
    """Return how many runs in containers there are, and those that the host did not keep up with.

    The list is empty without runs in containers.
    """
    rows = [row for row in results.study.rows if row.in_containers]
    runs = [(row, results.courses[run]) for row in rows for run in row.runs]
    if not runs:
        return []
    several = len({row.world for row in rows}) > 1
    late = [
        f"{f'{row.world}: ' if several else ''}{row.name} ({course.host})"
        for row, course in runs
        if not course.facts.get("kept up", 0)
    ]
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    kept = f"did not keep up with {len(late)}: {'; '.join(late)}" if late else "kept up with all"
    return [f"in containers, one run at a time: {count}, and the host {kept}"]
