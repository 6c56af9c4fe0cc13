"""The state of the server as a tree of JSON with arrays beside it, and back.

`freeze` walks the objects that hang on the server. `thaw` puts the state into a server that was
made from the same plan: an object that the new server has at the same place is filled in place;
values that come and go, such as a waiting push, are made anew from a fixed table of classes, or
from the classes of the plan's plugins. No code of theirs runs, and a file can name no other class.
Whatever a plan decides (layouts, codecs, functions, frozen configurations) is left as the new
server has it.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import count
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from ... import chance, vectors
from ...core.cut import crossing_checks, cut_exchange, logit_rounds, server_layers
from ...core.server import evaluations, ledger, quarantine, refusals, staging
from ...core.server import parameter_server as server
from ...core.wire import messages
from ...modulation import history
from ...pulls import base as pulls_base
from ...pulls import delta
from .own_state import class_name, class_named, is_own, member

STATEFUL = ("core", "modulation", "optimizers", "pulls", "synchronization", "aggregation")
"""Parts of `emulator/` whose objects hold state of a server."""

_VALUES = (
    *(messages.Update, messages.UpdateSegment, messages.Pull, messages.Times, messages.Activations),
    *(vectors.Gradient, ledger.Arrival, evaluations.Snapshot, server.Ended),
    *(pulls_base.EncodedModel, delta._Patch, history._Segment, refusals.Tally),
    quarantine._Suspect,
    *(staging._Exchange, cut_exchange._Phase, crossing_checks.SentActivations),
    *(logit_rounds.LogitRound, server_layers.LossAnswer, server_layers.ForwardPasses),
)
_MADE: dict[str, type[Any]] = {cls.__name__: cls for cls in _VALUES}
"""Classes of values that `thaw` makes anew, by name."""

_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, type)
_KEEP: list[Any] = ["keep"]
"""The node of a value that the plan decides."""


class Frozen(NamedTuple):
    """A state: a tree of JSON values, and the leaves that the tree names by number."""

    tree: Any
    leaves: list[Any]
    """Arrays, copied; from `freeze` with `opaque` also objects of classes that are no state."""


def freeze(root: Any, *, opaque: bool = False, also: tuple[type, ...] = ()) -> Frozen:
    """Return the state of `root` and of all objects reachable from `root`.

    Later changes of `root` do not change the result. Raises TypeError for a value that is no state,
    unless `opaque`: then the value itself becomes a leaf, which memory holds and no file does.
    Objects of the classes `also` are state, too.
    """
    freezing = _Freezing(opaque, also)
    return Frozen(freezing.node(root), freezing.leaves)


def thaw(root: Any, frozen: Frozen) -> None:
    """Put the state `frozen` into `root`, which was made from the same plan.

    Raises ValueError if the state is not one of such a plan.
    """
    try:
        _Thawing(frozen.leaves).value(frozen.tree, root)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"the state does not fit the plan: {error!r}") from error


class _Freezing:
    def __init__(self, opaque: bool, also: tuple[type, ...]) -> None:
        self.leaves: list[Any] = []
        self._opaque, self._also = opaque, also
        self._known: dict[int, int] = {}  # number of each object, by its identity
        self._held: list[Any] = []  # keeps the objects alive, so that identities stay unique
        self._arrays: dict[tuple[Any, ...], int] = {}

    def node(self, value: Any) -> Any:
        """Return the tree of `value`."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, Enum) and class_name(type(value)):
            return ["member", class_name(type(value)), value.name]
        if isinstance(value, bool | int | float | str):
            return _plain(value)  # a quantity, or another subclass that counts as a number
        if self._opaque and _never_changes(value):
            return ["opaque", self._leaf(value)]
        if isinstance(value, np.ndarray):
            return ["array", self._array(value)]
        if isinstance(value, np.generic):
            return ["number", self._leaf(np.asarray(value))]
        if isinstance(value, bytes | memoryview):
            return ["bytes", self._leaf(np.frombuffer(value, np.uint8).copy())]
        if type(value).__name__ in _MADE and type(value) is _MADE[type(value).__name__]:
            return self._object(value)
        if self._opaque and isinstance(value, list) and _package(value):
            return ["opaque", self._leaf(value)]  # frames with their gradient
        if isinstance(value, tuple) and hasattr(value, "_fields") and class_name(type(value)):
            return self._object(value)
        if (tag := _tag(value)) is not None:
            return [tag, *self._items(value)]
        if (drawing := chance.drawn_so_far(value)) is not None:
            kind, state = drawing
            return ["draws", kind, self.node(state)]
        if isinstance(value, self._also):
            return self._object(value)
        if isinstance(value, _FUNCTIONS) or _is_fixed(value):
            return _KEEP
        if _package(value) in STATEFUL or is_own(value):
            return self._object(value)
        if self._opaque:
            return ["opaque", self._leaf(value)]
        raise TypeError(f"a {type(value).__name__} is no state of a server")

    def _items(self, value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            return ([self.node(key), self.node(item)] for key, item in list(value.items()))
        if isinstance(value, count):
            return iter([int(repr(value)[len("count(") : -1])])
        if isinstance(value, slice):
            return iter([value.start, value.stop])
        if isinstance(value, array):
            return iter([value.typecode, self._leaf(np.array(value))])
        if isinstance(value, set | frozenset):
            value = sorted(value)  # the same tree each time
        return map(self.node, value)

    def _object(self, value: Any) -> Any:
        if id(value) in self._known:
            return ["known", self._known[id(value)]]
        number = self._known[id(value)] = len(self._held)
        self._held.append(value)
        fields = [[name, self.node(part)] for name, part in _fields(value)]
        return ["object", number, _name(type(value)), fields]

    def _array(self, value: Any) -> int:
        """Return the number of the leaf of `value`; a view of the same numbers is the same leaf."""
        place = value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str
        if place not in self._arrays:
            self._held.append(value)  # or its address might be given to another array
            self._arrays[place] = self._leaf(value.copy())
        return self._arrays[place]

    def _leaf(self, leaf: Any) -> int:
        self.leaves.append(leaf)
        return len(self.leaves) - 1


class _Thawing:
    def __init__(self, leaves: Sequence[Any]) -> None:
        self._leaves = leaves
        self._known: dict[int, Any] = {}
        self._arrays: dict[int, Any] = {}

    def value(self, node: Any, fresh: Any) -> Any:
        """Return the value of `node`; `fresh` is the new server's value at the same place."""
        if not isinstance(node, list):
            return node
        match node:
            case ["keep"]:
                return fresh
            case ["known", number]:
                return self._known[number]
            case ["array", number]:
                if number not in self._arrays:  # views of one array are one array again
                    self._arrays[number] = self._leaves[number].copy()
                return self._arrays[number]
            case ["number", number]:
                return self._leaves[number][()]
            case ["bytes", number]:
                return self._leaves[number].tobytes()
            case ["opaque", number]:
                return self._leaves[number]
            case ["draws", kind, state]:
                return chance.continued(kind, self.value(state, None), fresh)
            case ["member", name, word]:
                return member(name, word)
            case ["object", number, name, fields]:
                return self._object(number, name, fields, fresh)
            case [str(tag), *items]:
                return self._container(tag, items, fresh)
        raise ValueError(f"{str(node)[:80]} is no node of a state")

    def _object(self, number: int, name: str, fields: Iterable[Any], fresh: Any) -> Any:
        cls = type(fresh)
        if name in _MADE:
            cls, fresh = _MADE[name], None
        elif _name(cls) != name and (users := class_named(name)) is not None:
            cls, fresh = users, None
        if _name(cls) != name:
            raise ValueError(f"a {cls.__name__} stands where the state has a {name}")
        if issubclass(cls, tuple):
            made = tuple.__new__(cls, [self.value(part, None) for _, part in fields])
            self._known[number] = made
            return made
        own = {} if fresh is None else dict(_fields(fresh))
        # a frozen object may be a constant that others hold: it is made anew
        target = object.__new__(cls) if fresh is None or _is_frozen(cls) else fresh
        self._known[number] = target
        for field, part in fields:
            if part != _KEEP or field in own:
                # also into a frozen dataclass
                object.__setattr__(target, field, self.value(part, own.get(field)))
        return target

    def _container(self, tag: str, items: list[Any], fresh: Any) -> Any:
        match tag:
            case "dict":
                pairs = [(self.value(key, None), item) for key, item in items]
                own = fresh if isinstance(fresh, dict) else {}
                made = {key: self.value(item, own.get(key)) for key, item in pairs}
                if not isinstance(fresh, dict):
                    return made
                fresh.clear()  # in place, as others may hold the same mapping
                fresh.update(made)
                return fresh
            case "count":
                return count(items[0])
            case "slice":
                return slice(*items)
            case "numbers":
                return array(items[0], self._leaves[items[1]].tolist())
        values = [self.value(item, None) for item in items]
        return _CONTAINERS[tag](values)


_CONTAINERS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
_TAGS = {
    **{made: tag for tag, made in _CONTAINERS.items()},
    dict: "dict",
    count: "count",
    array: "numbers",
    slice: "slice",
}


def _tag(value: Any) -> str | None:
    """Return the tag of a container's node; None for another value."""
    for cls in type(value).__mro__:
        if cls in _TAGS:
            return _TAGS[cls]
    return None


def _never_changes(value: Any) -> bool:
    """Return whether `value` is read-only bytes or a read-only array, kept without a copy."""
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    return isinstance(value, bytes | memoryview)


def _plain(value: Any) -> Any:
    kind = next(cls for cls in (bool, int, float, str) if isinstance(value, cls))
    return kind(value)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the fields of an object, in the order of their definition."""
    if isinstance(value, tuple):
        yield from zip(value._fields, value, strict=True)  # type: ignore[attr-defined]
        return
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)
    yield from getattr(value, "__dict__", {}).items()


def _package(value: Any) -> str:
    """Return the part of `emulator/` that defines the class of `value`; empty for another."""
    root, _, rest = type(value).__module__.partition(".")
    return rest.partition(".")[0] if root == "emulator" else ""


def _name(cls: type) -> str:
    """Return the name of `cls` in a state."""
    return class_name(cls) or cls.__name__


def _is_frozen(cls: type) -> bool:
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and bool(params.frozen)


def _is_fixed(value: Any) -> bool:
    """Return whether the plan decides `value`: it is a configuration, or no part of the state."""
    if class_name(type(value)):
        return False  # a value of a user's plugin, also of a frozen class
    if _is_frozen(type(value)):
        return True
    struct = getattr(type(value), "__struct_config__", None)
    if struct is not None and struct.frozen:
        return True
    package = _package(value)
    return bool(package) and package not in STATEFUL
