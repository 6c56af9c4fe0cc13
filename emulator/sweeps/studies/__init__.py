"""Studies: a paper's claim, tested in virtual time with each algorithm at its best learning rate.

`emulate study NAME` plays a study into a folder; with `--docs FOLDER` it puts the tables into a
page. A study is a file `scenarios/papers/PAPER/NAME.yaml`; its tables are made in
`analysis/papers/`.
"""

from collections.abc import Mapping

from ...machine.shipped_files import study_files
from .entries import Entry, Study, read_study
from .play_study import play

STUDIES: Mapping[str, Study] = {name: read_study(file) for name, file in study_files().items()}

__all__ = ["STUDIES", "Entry", "Study", "play"]
