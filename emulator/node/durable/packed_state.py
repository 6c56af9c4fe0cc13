"""A server's state as a tree of JSON with arrays beside it, and back.

`Stateful` and its kin say what a state is; plain data alone are packed. A file names no class but
those of `Held` values, and a message stands as it travels.
"""

from array import array
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ... import chance
from ...core import wire
from ...core.sharding.parts_elsewhere import PartElsewhere, ReportedFrames, ScatteredGradient
from ...core.wire.messages import Message, UpdateSegment
from ...errors import WireError
from ...plugins.stateful import Held, held_class, held_name
from ...vectors import Gradient


class PackedState(NamedTuple):
    """A state: a tree of JSON values, and the arrays that the tree names by number."""

    tree: Any
    leaves: list[Any]


def packed(state: Any) -> PackedState:
    """Pack `state`, whose arrays are not copied. Raises TypeError for a value that is not plain."""
    leaves: list[Any] = []
    return PackedState(_tree(state, leaves), leaves)


def unpacked(packed: PackedState) -> Any:
    """Return the state, with copies of its arrays. Raises ValueError if it is none."""
    try:
        return _value(packed.tree, packed.leaves)
    except (LookupError, TypeError, AttributeError, WireError) as error:
        raise ValueError(f"not a state: {error!r}") from error


_CONTAINERS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
_ABOUT = ("node", "version", "ticket", "segment", "loss", "compute")
"""Fields of a part of an update before its frames."""
_TAGS = {made: tag for tag, made in _CONTAINERS.items()}


def _tree(value: Any, leaves: list[Any]) -> Any:
    """Return the tree of `value`, and add its arrays to `leaves`."""

    def leaf(content: Any) -> int:
        leaves.append(content)
        return len(leaves) - 1

    def trees(values: Any) -> list[Any]:
        return [_tree(each, leaves) for each in values]

    match value:
        case None:
            return None
        case bool() | int() | float() | str():
            # also a quantity, or another subclass that counts as a number
            plain = next(cls for cls in (bool, int, float, str) if isinstance(value, cls))
            return plain(value)
        case bytes() | memoryview():
            return ["bytes", leaf(np.frombuffer(value, np.uint8))]
        case np.ndarray():
            return ["array", leaf(value)]
        case np.generic():
            return ["number", leaf(np.asarray(value))]
        case array():
            return ["numbers", value.typecode, leaf(np.array(value))]
        case slice():
            return ["slice", value.start, value.stop]
        case Held():
            fields = (getattr(value, name) for name in value.__struct_fields__)
            return ["held", held_name(type(value)), *trees(fields)]
        case PartElsewhere():
            paper = None if value.paper is None else dict(value.paper)
            part = value.shard, value.number, value.values.size, paper
            return ["elsewhere", *trees(part)]
        case ScatteredGradient():
            return ["scattered", *trees(value.parts)]
        case UpdateSegment(frames=ReportedFrames() as frames):
            about = (getattr(value, name) for name in _ABOUT)
            lengths = [len(frame) for frame in frames]
            return ["reported", lengths, list(frames.counted), *trees(about)]
        case Gradient():
            return ["gradient", *trees((value.values, value.indices))]
        case dict():
            return ["dict", *(trees(pair) for pair in value.items())]
        case set() | frozenset():
            return [_TAGS[type(value)], *trees(sorted(value))]  # the same tree each time
    if type(value) in _TAGS:
        return [_TAGS[type(value)], *trees(value)]
    if isinstance(value, Message):
        return ["message", *trees(bytes(frame) for frame in wire.pack(value))]
    if (drawing := chance.drawn_so_far(value)) is not None:
        return ["draws", *trees(drawing)]
    raise TypeError(f"a {type(value).__name__} is no state of a server")


def _value(tree: Any, leaves: list[Any]) -> Any:
    """Return the value of `tree`."""

    def values(trees: Any) -> list[Any]:
        return [_value(each, leaves) for each in trees]

    match tree:
        case ["array", number]:
            return leaves[number].copy()
        case ["number", number]:
            return leaves[number][()]
        case ["bytes", number]:
            return leaves[number].tobytes()
        case ["numbers", code, number]:
            return array(code, leaves[number].tolist())
        case ["slice", start, stop]:
            return slice(start, stop)
        case ["held", name, *fields]:
            return held_class(name)(*values(fields))
        case ["gradient", *parts]:
            return Gradient(*values(parts))
        case ["elsewhere", *about]:
            return PartElsewhere(*values(about))
        case ["scattered", *parts]:
            return ScatteredGradient(values(parts))
        case ["reported", lengths, counted, *about]:
            told = dict(zip(_ABOUT, values(about), strict=True))
            return UpdateSegment(**told, frames=ReportedFrames.of(lengths, counted))
        case ["dict", *pairs]:
            return {_value(key, leaves): _value(value, leaves) for key, value in pairs}
        case ["message", *frames]:
            return wire.unpack(values(frames))
        case ["draws", kind, state]:
            return chance.continued(kind, _value(state, leaves), None)
        case [tag, *items]:
            return _CONTAINERS[tag](values(items))
    return tree
