"""Studies: a paper's claim, tested in virtual time with each algorithm at its best learning rate.

`emulate study NAME` plays a study into a folder; with `--docs FOLDER` it puts the tables into a
page. A study is a file here, a scenario, and a file in `analysis/papers/`.
"""

from collections.abc import Mapping

from .adacomp import ADACOMP
from .byzantine_study import BYZANTINE
from .dynacomm_study import DYNACOMM
from .entries import Entry, Study
from .omnivore_study import OMNIVORE
from .play_study import play
from .pulls import PULLS
from .reliability_study import RELIABILITY
from .residual import RESIDUAL

STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (ADACOMP, RESIDUAL, PULLS, DYNACOMM, OMNIVORE, RELIABILITY, BYZANTINE)
}

__all__ = ["STUDIES", "Entry", "Study", "play"]
