"""Gradient codecs. To add one: write its file, name it here, add its row to the tests."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from .. import kinds
from ..kinds import plain
from .base import (
    Buffer,
    Codec,
    Count,
    Encoder,
    Frames,
    Gradient,
    Indices,
    NotFinite,
    Place,
    Vector,
)
from .dense import Dense
from .feedback import ErrorFeedback, Plain, encoder
from .topk import TopK

AnyCodec: TypeAlias = Dense | TopK


def make(description: Mapping[str, Any]) -> AnyCodec:
    """The codec that `plain` described."""
    codec: AnyCodec = kinds.make(AnyCodec, description)
    return codec


__all__ = [
    "AnyCodec",
    "Buffer",
    "Codec",
    "Count",
    "Dense",
    "Encoder",
    "ErrorFeedback",
    "Frames",
    "Gradient",
    "Indices",
    "NotFinite",
    "Place",
    "Plain",
    "TopK",
    "Vector",
    "encoder",
    "make",
    "plain",
]
