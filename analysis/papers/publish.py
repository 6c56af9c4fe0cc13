"""Publishing of a study's tables and figure in the study's page."""

from pathlib import Path

from . import MODULES
from .folder import declared, open_study
from .markdown import around, replace


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
