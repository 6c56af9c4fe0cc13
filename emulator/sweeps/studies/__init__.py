"""Studies: a paper's claim, tested in virtual time with each algorithm at its best learning rate.

`emulate study NAME` plays a study into a folder; with `--docs FOLDER` it puts the tables into a
page. A study is a file `scenarios/papers/PAPER/NAME.yaml`; its tables are made in
`analysis/papers/`.
"""

from collections.abc import Mapping

from .entries import PAPERS, Entry, Study, read_study
from .play_study import play

STUDIES: Mapping[str, Study] = {
    file.stem: read_study(file) for file in sorted(PAPERS.glob("*/*.yaml"))
}

__all__ = ["STUDIES", "Entry", "Study", "play"]
