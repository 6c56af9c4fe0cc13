"""The plugins that installed packages offer by entry points, in all families."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from .. import aggregation, codecs, modulation, optimizers, schedules, synchronization
from ..errors import PythonFileError
from ..world import faults
from .sections.run_sections import FIGURES

FAMILIES = (
    *(codecs.FAMILY, modulation.FAMILY, synchronization.FAMILY, optimizers.FAMILY),
    *(aggregation.FAMILY, schedules.FAMILY, faults.FAMILY, FIGURES),
)
"""Families that users can add to."""


@dataclass(frozen=True)
class InstalledPlugin:
    """A plugin of an installed package."""

    kind: str
    family: str
    about: str
    """First line of the class's docstring, or why the class cannot be used."""
    package: str
    """Name and version of the package."""
    value: str
    """Module and class, as the entry point names them."""

    def plain(self) -> dict[str, str]:
        """Return the fields for JSON, without the kind."""
        texts = {"about": self.about, "from": self.package}
        return {**texts, "family": self.family, "class": self.value}


def installed_plugins() -> Iterator[InstalledPlugin]:
    """Yield the plugins of installed packages, family by family."""
    for family in FAMILIES:
        for name, point in sorted(family.installed().items()):
            try:
                about = (inspect.getdoc(family.own(name)) or "").partition("\n")[0]
            except PythonFileError as error:
                about = f"cannot be used: {error}"
            package = f"{point.dist.name} {point.dist.version}" if point.dist else "no package"
            yield InstalledPlugin(name, family.name, about, package, point.value)
