"""Tables and figures of studies: `emulate study NAME --docs docs` writes them into `docs/`.

A module has `tables(study)`, Markdown for the study's page. It may have `figure(study, path)`, or
several figures in `FIGURES`. Claims and the rules of their verdicts are in the study's file,
`scenarios/papers/PAPER/NAME.yaml`.
"""

from collections.abc import Mapping
from types import ModuleType

from . import adacomp, byzantine, dynacomm, omnivore, pulls, reliability, residual

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
