"""Heads of messages: the first frame of each message, in MessagePack.

A head is an array: a tag that names the kind of message, then the fields by position. The types
bound every number and every list, and msgspec checks the length of a list before it allocates one.
"""

from typing import Annotated, TypeAlias

import msgspec

LAYERS = 4096
"""Largest number of layers of a model, and so of segments of a message."""

ROWS = 1 << 20
"""Largest number of examples in a mini-batch."""

Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Layer: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LAYERS)]
Ends: TypeAlias = Annotated[tuple[Layer, ...], msgspec.Meta(min_length=1, max_length=LAYERS)]
"""Last layer of each segment of a pull; the next segment begins at the layer behind it."""
Readings: TypeAlias = Annotated[tuple[float, ...], msgspec.Meta(max_length=LAYERS)]
Rows: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=ROWS)]


class Head(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The first frame of a message."""


class HelloHead(Head, tag=0):
    node: Name
    incarnation: Natural


class BeginHead(Head, tag=1):
    zero: float


class PullHead(Head, tag=2):
    node: Name
    ticket: Natural
    after: Natural
    held: Natural | None


class ModelHead(Head, tag=3):
    ticket: Natural
    version: Natural


class UpdateHead(Head, tag=4):
    node: Name
    version: Natural
    loss: float
    compute: float


class DivergedHead(Head, tag=5):
    node: Name
    version: Natural


class ScoreHead(Head, tag=6):
    node: Name
    version: Natural
    accuracy: Annotated[float, msgspec.Meta(ge=0, le=1)]
    loss: float


class ByeHead(Head, tag=7):
    pass


class PatchHead(Head, tag=8):
    ticket: Natural
    version: Natural
    base: Natural | None


class SegmentedPullHead(Head, tag=9):
    node: Name
    ticket: Natural
    after: Natural
    held: Natural | None
    ends: Ends


class ModelSegmentHead(Head, tag=10):
    ticket: Natural
    version: Natural
    segment: tuple[Layer, Layer]
    times: tuple[float, Readings] | None


class PatchSegmentHead(Head, tag=11):
    ticket: Natural
    version: Natural
    segment: tuple[Layer, Layer]
    base: Natural | None
    times: tuple[float, Readings] | None


class UpdateSegmentHead(Head, tag=12):
    node: Name
    version: Natural
    ticket: Natural
    segment: tuple[Layer, Layer]
    loss: float
    compute: float


class ActivationsHead(Head, tag=13):
    node: Name
    version: Natural
    ticket: Natural
    rows: Rows


class ActivationGradientHead(Head, tag=14):
    ticket: Natural
    loss: float


class LogitsHead(Head, tag=15):
    ticket: Natural


class LogitGradientHead(Head, tag=16):
    node: Name
    ticket: Natural
    loss: float


class AgainHead(Head, tag=29):
    pass


class LeaveHead(Head, tag=17):
    node: Name


class NumberedUpdateHead(Head, tag=24):
    node: Name
    version: Natural
    loss: float
    compute: float
    ticket: Natural


class ErrorScoreHead(Head, tag=25):
    node: Name
    version: Natural
    loss: float
    error: Annotated[float, msgspec.Meta(ge=0)]


AnyHead: TypeAlias = (
    HelloHead
    | BeginHead
    | PullHead
    | ModelHead
    | UpdateHead
    | DivergedHead
    | ScoreHead
    | ByeHead
    | PatchHead
    | SegmentedPullHead
    | ModelSegmentHead
    | PatchSegmentHead
    | UpdateSegmentHead
    | ActivationsHead
    | ActivationGradientHead
    | LogitsHead
    | LogitGradientHead
    | LeaveHead
    | AgainHead
    | NumberedUpdateHead
    | ErrorScoreHead
)

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(AnyHead).decode
