"""States: the part of an object that outlives its process, or goes back to an earlier time.

An object with a state has `state()`, which returns plain data, and `restore(state)`. Plain data are
numbers, text, bytes, arrays, containers of these, random generators, messages, and `Held` values.
"""

from array import array
from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar

from msgspec.structs import StructConfig

from ..chance import drawn_so_far


class Held:
    """A value that comes and goes in a state, such as a push that waits: a Struct of plain data.

    A saved state has the name of its class, which no other such class of the emulator, or of a
    user's files, may have.
    """

    __slots__ = ()
    __struct_config__: ClassVar[StructConfig]
    __struct_fields__: ClassVar[tuple[str, ...]]


class Stateful:
    """An object whose state is the attributes named in `STATE`.

    An attribute with a state of its own stays the same object, as others may hold it.
    """

    __slots__ = ()
    STATE: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """Return the state. Nothing is copied: a later change of this object changes the state."""
        parts = ((name, getattr(self, name)) for name in self.STATE)
        return {name: part.state() if has_state(part) else part for name, part in parts}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`, which `state` of such an object has returned, and which is not used
        elsewhere. Raises KeyError, TypeError or ValueError for another state."""
        for name in self.STATE:
            own = getattr(self, name)
            if has_state(own):
                own.restore(state[name])
            else:
                setattr(self, name, state[name])


def has_state(value: Any) -> bool:
    """Return whether `value` says its state itself."""
    return hasattr(value, "state") and hasattr(value, "restore")


def copied(state: Any) -> Any:
    """Return a copy of a `state` that later changes do not reach; what never changes is shared."""
    kind = type(state)
    if kind is dict:
        return {key: copied(value) for key, value in state.items()}
    if kind in (list, tuple, deque):
        return kind(map(copied, state))
    if isinstance(state, Held) and not state.__struct_config__.frozen:
        return kind(*(copied(getattr(state, name)) for name in state.__struct_fields__))
    flags = getattr(state, "flags", None)
    if flags is not None:
        return state.copy() if flags.writeable else state
    if kind in (set, array):
        return kind(state) if kind is set else state[:]
    return deepcopy(state) if drawn_so_far(state) else state


_PACKAGE = __name__.partition(".")[0]
_USERS = "own "
"""Begin of the names of users' classes, which may equal those of the emulator's."""


def held_name(cls: type[Held]) -> str:
    """Return the name of `cls` in saved states."""
    ours = cls.__module__.partition(".")[0] == _PACKAGE
    return cls.__name__ if ours else f"{_USERS}{cls.__name__}"


def held_class(name: str) -> type[Held]:
    """Return the class of held values with this `name`. Raises ValueError without one."""
    # the latest definition: a user's file may have been loaded from several places
    for cls in reversed([*_held(Held)]):
        if held_name(cls) == name:
            return cls
    raise ValueError(f"no class {name} holds values of a state")


def _held(base: type[Held]) -> Iterator[type[Held]]:
    """Yield the subclasses of `base` at any depth, a class before its own subclasses."""
    for cls in base.__subclasses__():
        yield cls
        yield from _held(cls)
