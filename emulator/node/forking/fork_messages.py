"""Lines of JSON between the conductor and the fork server."""

from typing import TypeAlias

import msgspec

TRIAL = "--try"
"""Argument with which the fork server only says whether it could fork, and ends."""


class Fork(msgspec.Struct, frozen=True):
    """Fork the part of a container, from the conductor to the fork server."""

    node: str
    pid: int
    """The container's first process, its supervisor, as the host counts."""
    container: str
    """Id of the container, which is in the names of its control groups."""
    stdin: int
    """Descriptors of the supervisor: the part's standard input, and the pipe for its reports."""
    control: int
    incarnation: int


class ForkLine(
    msgspec.Struct,
    frozen=True,
    tag_field="fork",
    tag=lambda name: name.removesuffix("Line").lower(),
):
    """A line of the fork server, which names the kind."""


class ForkedLine(ForkLine, frozen=True):
    """A part runs."""

    node: str
    pid: int
    """As its container counts."""


class RefusedLine(ForkLine, frozen=True):
    """A part cannot be forked here."""

    node: str
    reason: str


AnyForkLine: TypeAlias = ForkedLine | RefusedLine

encode = msgspec.json.Encoder().encode
decode_order = msgspec.json.Decoder(Fork).decode
_lines: msgspec.json.Decoder[AnyForkLine] = msgspec.json.Decoder(AnyForkLine)
decode_line = _lines.decode
