"""Studies: a paper's claim, tested with each algorithm at its best learning rate.

`emulate study NAME` plays a study into a folder; with `--docs FOLDER` it puts the tables into a
page. A study is a file `scenarios/papers/PAPER/NAME.yaml`; its tables are made in
`analysis/papers/`.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from ...machine.shipped_files import study_files
from .entries import Entry, Study
from .play_study import play, points_played, points_to_play
from .study_file import read_study

STUDIES: Mapping[str, Study] = {name: read_study(file) for name, file in study_files().items()}


def chosen(
    name: str, *, only: Collection[str] = (), add: Path | None = None, quick: bool = False
) -> Study:
    """Return the study `name` with the entries called one of `only`, if there are any names, and
    those of the user's file `add`.

    Raises ScenarioError with the mistakes of `add`.
    """
    shipped = STUDIES[name]
    study = read_study(study_files()[name], add) if add else shipped
    if only:
        own = [entry for entry in study.entries if entry not in shipped.entries]
        kept = shipped.only(only).entries
        study = replace(study, entries=tuple(e for e in study.entries if e in kept or e in own))
    return study.smaller() if quick else study


__all__ = ["STUDIES", "Entry", "Study", "chosen", "play", "points_played", "points_to_play"]
