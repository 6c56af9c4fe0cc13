"""Tables and figures of studies: `emulate study NAME --docs docs` writes them into `docs/`.

A module has `tables(study)`, Markdown for the study's page, and may have `figure(study, path)`.
"""

from collections.abc import Mapping
from types import ModuleType

from . import adacomp, pulls, residual

MODULES: Mapping[str, ModuleType] = {"adacomp": adacomp, "residual": residual, "pulls": pulls}
"""The modules by the name of the study, which is the name of its page too."""
