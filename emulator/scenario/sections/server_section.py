"""The section `server`: the server's link, its state on disk, and its defences."""

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import core_schema

from ...core.plan import Durability
from ...core.server.refusal_counts import QuarantineRule
from ...units import Seconds
from ...world.links.link import Link
from ..reading.wording import not_among
from .devices import Section
from .fields import Duration, Name, Profiled


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


NONE, UPDATE = "none", "update"
_EVERY = "every: TIME"
_WORDS = {
    NONE: "No durability: the run ends with the server's process.",
    UPDATE: "Every update is in a log on the disk before anybody learns of it: none is lost.",
}


class SavedEvery(Section):
    """States of the server on its disk, saved again and again: updates since the last are lost."""

    every: Duration
    """Time between two saved states, for example `30s`."""


class Durable:
    """Reads a durability: the word `none` or `update`, or a mapping as `SavedEvery`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        word = core_schema.no_info_plain_validator_function(_word)
        choices = {UPDATE: word, _EVERY: handler.generate_schema(SavedEvery)}
        return core_schema.tagged_union_schema(choices, self._tag)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        words = Name(_WORDS).__get_pydantic_json_schema__(None, None)
        return {"anyOf": [words, handler(schema["choices"][_EVERY])]}

    def _tag(self, value: Any) -> str:
        return _EVERY if isinstance(value, dict | SavedEvery) else UPDATE


def _word(durability: Any) -> str:
    if isinstance(durability, str) and durability in _WORDS:
        return str(durability)
    raise ValueError(not_among(durability, [*_WORDS, f"{{{_EVERY}}}"]))


AnyDurability: TypeAlias = Annotated[str | SavedEvery, Durable()]


def planned(durability: str | SavedEvery) -> Durability | None:
    """Return the plan of `durability`, or None without durability."""
    if isinstance(durability, SavedEvery):
        return Durability(float(durability.every))
    return Durability() if durability == UPDATE else None


class Checkpoint(Section):
    """Checkpoints: copies of the model on disk, so that the model survives a server crash."""

    every: Duration
    """Time between two checkpoints, for example `30s`."""


HOST = "host"


def _relay(relay: str) -> str:
    if relay in (NONE, HOST):
        return relay
    raise ValueError(not_among(relay, [NONE, HOST]))


class ServerSection(Section):
    """Parameter server: link, checkpoints, quarantine and encryption."""

    link: Annotated[Link, Profiled("link preset")] = Field(default_factory=Link)
    """Access link of the server; the traffic of all devices shares it. Without `link` the server's
    traffic is unshaped."""
    checkpoint: Checkpoint | None = None
    """Checkpoints of the model on disk. Without `checkpoint` the server saves none during the
    run."""
    durability: AnyDurability = "none"
    """Durability of the server: with `update` a server whose process was killed goes on with every
    update, with `{every: 30s}` from its last saved state; with `none` the run ends. A checkpoint
    holds the model alone, for people; durability holds all that the server needs to go on."""
    quarantine: QuarantineSection | None = None
    """Quarantine of devices whose messages are refused again and again. Without `quarantine` every
    message is looked at."""
    shards: Annotated[int, Field(ge=1)] = 1
    """Number of servers over which the layers of the model are cut, each with the `link` and a
    processor of its own. A device pulls and pushes a part at each."""
    encrypt: bool = False
    """Encryption: with `true`, ZeroMQ's CURVE encrypts all traffic, which costs about 3 ms of a
    core for each exchange of a push and a pull."""
    relay: Annotated[str, AfterValidator(_relay)] = NONE
    """Relays between hosts with `--on swarm`: with `host` the devices of each other host reach the
    server through a relay there, over one connection, and a version of the model travels between
    the hosts once for all of them; with `none` each device has a connection of its own."""
