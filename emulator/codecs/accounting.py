"""A paper's own way of counting bytes, which may leave out what a decoder needs.

A codec whose paper has one has a method `paper`; what it says is logged beside the wire's bytes.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..layout import Kind, Layout
from ..vectors import Gradient
from .base import Codec

Accounting: TypeAlias = Callable[[Gradient, Layout], Mapping[Kind, float]]
"""Bytes of an update by the kind of layer that they are for."""


def accounting(codec: Codec) -> Accounting | None:
    """The codec's paper's; None if it has none of its own."""
    found: Accounting | None = getattr(codec, "paper", None)
    return found
