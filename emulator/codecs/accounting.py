"""Byte accounting of a codec's paper, which may leave out bytes that a decoder needs.

A codec with such an accounting has a method `paper`; the log holds the result beside the bytes on
the wire.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..layout import Kind, Layout
from ..vectors import Gradient
from .base import Codec

Accounting: TypeAlias = Callable[[Gradient, Layout], Mapping[Kind, float]]
"""Function from a gradient and a layout to the bytes for each kind of layer."""


def accounting(codec: Codec) -> Accounting | None:
    """Return the byte accounting of the codec's paper, or None if the paper defines none."""
    paper: Accounting | None = getattr(codec, "paper", None)
    return paper
