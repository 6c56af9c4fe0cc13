"""Tables and figures of studies: `emulate study NAME --docs docs` writes them into `docs/`.

A module has `tables(study)`, Markdown for the study's page. It may have `figure(study, path)`, or
several figures in `FIGURES`. Claims and the rules of their verdicts are in the study's file,
`scenarios/papers/PAPER/NAME.yaml`.
"""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from . import adacomp, byzantine, dynacomm, omnivore, pulls, reliability, residual
from .folder import declared, open_study
from .markdown import around, replace

MODULES: Mapping[str, ModuleType] = {
    "adacomp": adacomp,
    "residual": residual,
    "pulls": pulls,
    "dynacomm": dynacomm,
    "omnivore": omnivore,
    "reliability": reliability,
    "byzantine": byzantine,
}
"""The modules by the name of the study, which is the name of its page too."""


def publish(folder: Path, docs: Path) -> list[Path]:
    """Write the tables of the finished study in `folder` into `docs/NAME.md`, and return the files.

    A study that has a figure gets `docs/NAME.png` as well, one with several
    `docs/NAME-END.png`. Raises RunError if `folder` holds no finished study, or if the page has no
    place for the tables.
    """
    study = open_study(folder)
    module = MODULES[study.name]
    page, command = _place(study.name, docs)
    replace(page, command, module.tables(study))
    files = [page]
    if hasattr(module, "figure"):
        files.append(docs / f"{study.name}.png")
        module.figure(study, files[-1])
    if hasattr(module, "FIGURES"):
        for end, draw in module.FIGURES.items():
            files.append(docs / f"{study.name}-{end}.png")
            draw(study, files[-1])
    return files


def check(name: str, docs: Path) -> None:
    """Raise RunError unless `docs/NAME.md` has a place for the tables of the study `name`."""
    around(*_place(name, docs))


def _place(name: str, docs: Path) -> tuple[Path, str]:
    """Return the page of the study `name`, and the command that its marks give."""
    return docs / f"{name}.md", f"make {declared(name)['make']}"
