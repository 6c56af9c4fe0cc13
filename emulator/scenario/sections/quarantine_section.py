"""The section `server.quarantine`: devices whose messages are refused again and again."""

from typing import Annotated

from pydantic import Field

from ...core.server.quarantine import QuarantineRule
from ...units import Seconds
from .devices import Section
from .fields import Duration


class QuarantineSection(Section):
    """Quarantine: a device with repeated refusals is not heard for a while."""

    refusals: Annotated[int, Field(ge=1)] = 10
    """Number of refused messages that bring a device into quarantine."""
    within: Duration = Seconds(60)
    """Time in which the refusals come, for example `1min`."""
    lasts: Duration = Seconds(60)
    """Duration of the first quarantine; each further one of the same device lasts twice as long.
    Then the device is heard again, and its refusals count from zero."""

    @property
    def rule(self) -> QuarantineRule:
        """The rule in base units."""
        return QuarantineRule(self.refusals, float(self.within), float(self.lasts))
