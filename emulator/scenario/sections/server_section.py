"""The scenario's section `server`: the server's link, state on disk, and defences."""

from typing import Annotated

from pydantic import Field

from ...world.links.link import Link
from .devices import Section
from .durability import AnyDurability
from .fields import Duration, Profiled
from .quarantine_section import QuarantineSection


class Checkpoint(Section):
    """Checkpoints: copies of the model on disk, so that the model survives a server crash."""

    every: Duration
    """Time between two checkpoints, for example `30s`."""


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
    encrypt: bool = False
    """Encryption: with `true`, ZeroMQ's CURVE encrypts all traffic, which costs about 3 ms of a
    core for each exchange of a push and a pull."""
