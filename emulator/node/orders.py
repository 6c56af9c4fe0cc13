"""Orders to a supervisor: lines of JSON from the conductor, or made by the supervisor itself."""

from typing import Any, TypeAlias

import msgspec

from ..world.verbs import Setting


class Order(msgspec.Struct, frozen=True, tag_field="order", tag=str.lower, omit_defaults=True):
    """An order; its line names the kind."""


class Do(Order, frozen=True):
    """Do a verb of a fault."""

    verb: str
    fault: str = ""
    """Kind of the fault."""
    setting: Setting | None = None
    planned: float | None = None
    """When the timeline has the verb; None: the device has drawn the fault itself."""
    end: str = ""
    """Verb that ends the drawn fault."""
    lasts: float | None = None
    """Seconds of the drawn fault; None: it has no end of its own."""


class StopPart(Order, frozen=True):
    """End the part."""

    reason: str = "canceled"
    """A key of `config.ENDINGS`."""


class HoldMessages(Order, frozen=True):
    """Hold back the messages of `node`, whose link has changed: an order to the server's."""

    node: str
    delay: dict[str, Any]


class Zero(Order, frozen=True):
    """The run's zero is `at`, a time of the node's clock: the link changes from then on."""

    at: float


class QuotaAnswer(Order, frozen=True):
    """The CPU quota has been changed as the supervisor has asked."""

    lifted: bool
    """Whether it is lifted; otherwise the quota in force is back."""
    press: int
    """Number of the change of memory for which the supervisor asked."""


AnyOrder: TypeAlias = Do | StopPart | HoldMessages | Zero | QuotaAnswer

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(AnyOrder).decode
