"""Messages of cut models as frames: a head, then the values that cross the cut, then labels.

The frames of an untrusted peer are checked for sizes that fit one another. The server knows the
sizes of its model and checks them as well.
"""

from collections.abc import Sequence

from ...errors import WireError
from ...vectors import Buffer
from . import wire_heads as heads
from .messages import ActivationGradient, Activations, CutReply, CutRequest, LogitGradient, Logits

SMALLEST = 2
"""Bytes of a value in the shortest coding of activations, float16."""

_F32 = 4
_LABEL = 4


def pack(message: CutRequest | CutReply) -> list[Buffer]:
    """Return the frames of `message`; the arrays are those of `message`, not copies."""
    match message:
        case Activations(node, version, ticket, rows, activations, labels):
            head = heads.encode(heads.ActivationsHead(node, version, ticket, rows))
            return [head, activations, *([] if labels is None else [labels])]
        case ActivationGradient(ticket, loss, gradient):
            return [heads.encode(heads.ActivationGradientHead(ticket, loss)), gradient]
        case Logits(ticket, logits):
            return [heads.encode(heads.LogitsHead(ticket)), logits]
        case LogitGradient(node, ticket, loss, gradient):
            return [heads.encode(heads.LogitGradientHead(node, ticket, loss)), gradient]


def unpack(head: heads.Head, arrays: Sequence[Buffer]) -> CutRequest | CutReply | None:
    """Return the message of `head` and its `arrays`; None if `head` is of another kind.

    Raises WireError if the arrays do not fit the head.
    """
    match head:
        case heads.ActivationsHead(node, version, ticket, rows):
            values, labels = _values_and_labels(arrays, rows)
            return Activations(node, version, ticket, rows, values, labels)
        case heads.ActivationGradientHead(ticket, loss):
            # no bytes: the mini-batch is lost
            return ActivationGradient(ticket, loss, _array(arrays, SMALLEST, least=0))
        case heads.LogitsHead(ticket):
            return Logits(ticket, _array(arrays, _F32))
        case heads.LogitGradientHead(node, ticket, loss):
            return LogitGradient(node, ticket, loss, _array(arrays, _F32))
    return None


def _values_and_labels(arrays: Sequence[Buffer], rows: int) -> tuple[Buffer, Buffer | None]:
    """Return the activations and the labels of `rows` examples, each with as many bytes a row."""
    if not 1 <= len(arrays) <= 2:
        raise WireError(f"activations have 1 or 2 arrays, not {len(arrays)}")
    values = _array(arrays[:1], SMALLEST * rows)
    return values, _array(arrays[1:], _LABEL * rows) if arrays[1:] else None


def _array(arrays: Sequence[Buffer], unit: int, least: int = 1) -> Buffer:
    """Return the only one of `arrays`, a multiple of `unit` bytes and at least `least` long."""
    if len(arrays) != 1:
        raise WireError(f"{len(arrays)} arrays behind a head that has one")
    if len(arrays[0]) < least or len(arrays[0]) % unit:
        raise WireError(f"an array of {len(arrays[0])} bytes, expected a multiple of {unit}")
    return arrays[0]
