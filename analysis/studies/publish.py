"""Publishing of a study's tables and figure in the study's page."""

from pathlib import Path

from . import MODULES
from .folder import open_study
from .markdown import replace


def publish(folder: Path, docs: Path) -> list[Path]:
    """Write the tables of the finished study in `folder` into `docs/NAME.md`, and return the files.

    A study that has a figure gets `docs/NAME.png` as well. Raises RunError if `folder` holds no
    finished study, or if the page has no place for the tables.
    """
    study = open_study(folder)
    module = MODULES[study.name]
    page = docs / f"{study.name}.md"
    replace(page, f"make table-{study.name}", module.tables(study))
    files = [page]
    if hasattr(module, "figure"):
        files.append(docs / f"{study.name}.png")
        module.figure(study, files[-1])
    return files
