"""Tables and figures of studies: `emulate study NAME --docs docs` writes them into `docs/`.

A study's module has `tables(study)`, Markdown for its page, and may have `figure(study, path)`.
"""

from collections.abc import Mapping
from types import ModuleType

from . import adacomp, pulls, residual

MODULES: Mapping[str, ModuleType] = {"adacomp": adacomp, "residual": residual, "pulls": pulls}
"""By the study's name, which is also its page's."""
