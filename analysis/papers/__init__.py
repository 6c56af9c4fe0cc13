"""Results of studies: `emulate study NAME --docs docs` writes them into the book in `docs/papers`.

A study's file, `scenarios/papers/PAPER/NAME.yaml`, declares its tables, figures and claims. Where
these need arithmetic of their own, a module of the study's name has `claims(study)`,
`tables(study)`, and figures in `FIGURES`.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from ..pictures.picture_file import Print, whole_file
from . import dynacomm, omnivore, study_figures, study_tables
from .book import complete, heading, page_of, write_block, write_book
from .claims import COLUMNS, Judged, judge, total
from .folder import NOTE, open_study
from .markdown import table
from .protocol_line import line, played_by, protocol
from .results import Results

__all__ = [
    "MODULES",
    "check",
    "complete",
    "publish",
    "publish_measured",
    "verdict",
    "write_book",
]

MODULES: Mapping[str, ModuleType] = {"dynacomm": dynacomm, "omnivore": omnivore}
"""Modules of studies with arithmetic of their own, by the study's name."""

VERDICT = "verdict.json"
"""File with the verdict in the folder of a study."""

NO_CLAIM = "measured; the paper makes no claim"
"""Verdict on a study without a claim."""


def check(name: str, docs: Path) -> None:
    """Raise RunError if the file of the study `name` is wrong, or if `docs` is no folder."""
    page_of(name, docs)


def publish(folder: Path, docs: Path, prints: Print | None = None) -> list[Path]:
    """Write the block of the finished study in `folder` into its page in `docs`.

    Figures are `docs/papers/NAME-END.png`, and beside them the other formats of `prints`. Return
    the page and the figures. Raises RunError if `folder` holds no finished study.
    """
    study = open_study(folder)
    results = Results(study)
    pictures = _draw(results, page_of(study.name, docs).parent, prints)
    return [write_block(study.name, docs, made(results, pictures)), *pictures]


def publish_measured(
    name: str,
    docs: Path,
    claims: Sequence[Judged],
    parts: Sequence[str],
    protocol: Sequence[str],
    played: Mapping[str, Any],
) -> Path:
    """Write the block of the measurement `name` into its page in `docs`, and return the page.

    `parts` are figures and tables in Markdown, `protocol` says how they were measured, and `played`
    where and by which version.
    """
    told = line([*protocol, *played_by(played, "measured")])
    return write_block(name, docs, _block(name, claims, [*parts, told]))


def verdict(folder: Path) -> str:
    """Return the verdict on the study in `folder`; "" without a finished study.

    The verdict is kept in `verdict.json` there until the study or its claims change.
    """
    if not (folder / NOTE).is_file():
        return ""
    results = Results(open_study(folder))
    claims = repr(results.declared.claims).encode()
    digest = sha256((folder / NOTE).read_bytes() + claims).hexdigest()
    with suppress(OSError, ValueError, KeyError):
        kept = json.loads((folder / VERDICT).read_bytes())
        if kept["of"] == digest:
            return str(kept["verdict"])
    found = _verdict(_claims(results))
    with suppress(OSError), whole_file(folder / VERDICT) as sink:
        sink.write(json.dumps({"of": digest, "verdict": found}).encode())
    return found


def made(results: Results, pictures: Mapping[Path, str]) -> str:
    """Return the block of a study: question, verdict, claims, figures, tables, and protocol.

    `pictures` are the files of the figures, each with what the figure shows.
    """
    name = results.study.name
    own = MODULES[name].tables(results.study) if name in MODULES else []
    parts = [
        *(f"![{caption}]({path.name})" for path, caption in pictures.items()),
        *own,
        *study_tables.tables(results),
        protocol(results),
    ]
    return _block(name, _claims(results), parts)


def _block(name: str, claims: Sequence[Judged], parts: Sequence[str]) -> str:
    """Return a block: question, verdict, claims, and its `parts`."""
    judged = [table(COLUMNS, [one.line for one in claims], numbers=False)] if claims else []
    head = [heading(name), f"**Verdict: {_verdict(claims)}.**"]
    return "\n\n".join([*head, *judged, *parts])


def _claims(results: Results) -> list[Judged]:
    module = MODULES.get(results.study.name)
    own = module.claims(results.study) if module else []
    return [*own, *judge(results)]


def _verdict(claims: Sequence[Judged]) -> str:
    return total(claims) or NO_CLAIM


def _draw(results: Results, folder: Path, prints: Print | None) -> dict[Path, str]:
    """Draw the figures of a study into `folder`, and return their PNG files and captions."""
    if prints and "png" not in prints.formats:  # the page shows PNG files
        prints = prints._replace(formats=("png", *prints.formats))
    study, found = results.study, dict[Path, str]()
    module = MODULES.get(study.name)
    for end, (draw, caption) in (module.FIGURES if module else {}).items():
        path = folder / f"{study.name}-{end}.png"
        draw(study, path, prints)
        found[path] = caption
    for spec in results.declared.figures:
        path = folder / f"{study.name}-{spec.name}.png"
        study_figures.draw(results, spec, path, prints)
        found[path] = spec.caption or f"{study.name}: {spec.name}"
    return found
