"""Tries a plugin of a user once, so that a wrong result is refused before a run begins.

Each trial calls the methods of one family as a run does, and raises BrokenLaw for a result that no
run can use. `codec_trials` tries codecs in depth.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ... import chance
from ...aggregation.base import Aggregation
from ...codecs.base import Codec
from ...errors import WireError
from ...layout import Layout
from ...modulation.base import Modulation, Modulator
from ...optimizers.base import Descent, Modulated, Optimizer
from ...schedules.base import Schedule
from ...synchronization.base import Patient, Synchronization, Synchronizer
from ...vectors import Gradient, Vector
from .codec_laws import BrokenLaw, Case, charged, check_gradient, kind_of

_ONE = np.float32(1)
_TIMES = 0.01
"""Seconds of each layer in the trial of a schedule."""
_ROUNDS = 64
"""Updates of each device after which a synchronization counts as one that lets no device wait."""


def _codec(codec: Codec, layout: Layout, members: Sequence[str]) -> None:
    case = Case(layout, (_gradient(layout), -_gradient(layout)))
    encoder = codec.start(case.context)
    _has(encoder, ["encode"], "start")
    charged(codec, case)
    check_gradient(codec.decode(encoder.encode(case.gradients[0]), layout), layout)


def _modulation(modulation: Modulation, layout: Layout, members: Sequence[str]) -> Modulator:
    size = modulation.memory(layout, len(members))
    if not isinstance(size, int | np.integer) or size < 0:
        raise BrokenLaw(f"memory returns {size!r}: a number of bytes was expected")
    state = modulation.start(layout)
    _has(state, _methods(Modulator), "start")
    gradient = Gradient(_gradient(layout))
    divisor = np.asarray(state.divisor(gradient, 0))
    if divisor.dtype.kind not in "fiu" or divisor.shape not in ((), gradient.values.shape):
        raise BrokenLaw(
            f"divisor returns {divisor.dtype}{list(divisor.shape)}: one number was expected, or "
            f"float32[{layout.size}]"
        )
    if not (divisor >= 1).all():
        raise BrokenLaw("divisor returns a number that is not 1 or more")
    state.applied([gradient])
    state.forget(1, ())
    return state


def _optimizer(optimizer: Optimizer, layout: Layout, members: Sequence[str]) -> Descent:
    descent = optimizer.start(layout.size, 0.01)
    _has(descent, _methods(Descent), "start")
    theta = np.zeros(layout.size, np.float32)
    descent.step(theta, [Modulated(Gradient(_gradient(layout)), 1.0, _ONE)])
    if theta.shape != (layout.size,) or not np.isfinite(theta).all():
        raise BrokenLaw("step leaves a model that is not one vector of finite numbers")
    arrays = descent.state()
    if not isinstance(arrays, Mapping):
        raise BrokenLaw(f"state returns {kind_of(arrays)}: a mapping of arrays was expected")
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.int64):
            raise BrokenLaw(f"state has {name!r}, which is no array of float32 or int64")
    descent.restore({name: array.copy() for name, array in arrays.items()})
    return descent


def _aggregation(aggregation: Aggregation, layout: Layout, members: Sequence[str]) -> None:
    gradient = _gradient(layout)
    given = [Modulated(Gradient(values), 0.5, _ONE) for values in (gradient, -gradient)]
    combined = aggregation.combine(given)
    if not isinstance(combined, Sequence) or not combined:
        raise BrokenLaw(f"combine returns {kind_of(combined)}: gradients were expected")
    for each in combined:
        if not isinstance(each, Modulated):
            raise BrokenLaw(f"combine returns {kind_of(each)} in place of a Modulated")
        check_gradient(each.gradient, layout, "combine")
    if abs((total := sum(each.share for each in combined)) - 1) > 1e-3:
        raise BrokenLaw(f"combine returns shares that add up to {total:g}, and not to 1")


def _schedule(schedule: Schedule, layout: Layout, members: Sequence[str]) -> None:
    layers = len(layout.layers)
    times = (_TIMES,) * layers
    for name, step in (("pull", 1), ("push", -1)):
        segments = getattr(schedule, name)(_TIMES, times, times)
        try:
            held = [n for first, last in segments[::step] for n in range(first, last + 1)]
        except TypeError:
            held = []
        if held != [*range(1, layers + 1)]:
            order = "first layers first" if step == 1 else "last layers first"
            raise BrokenLaw(
                f"{name} returns {segments!r:.60}: pairs of layers from 1 to {layers} were "
                f"expected, {order}, with each layer once"
            )


def _synchronization(
    synchronization: Synchronization, layout: Layout, members: Sequence[str]
) -> Synchronizer[Any]:
    state = synchronization.start(frozenset(members), 0, dict.fromkeys(members, 10))
    _has(state, _methods(Synchronizer), "start")
    state.begin(0.0)
    waiting = []
    for node in members:
        state.sent(node)
        if state.holds(node):
            continue
        waiting.append(node)
        try:
            step = state.arrive(node, node, 1.0)
        except WireError:
            waiting.remove(node)
            continue
        for arrival in _step(step):
            if arrival not in waiting:
                raise BrokenLaw("arrive returns an arrival that it was not given, or one twice")
            waiting.remove(arrival)
    at = state.deadline()
    if at is not None and not isinstance(at, int | float):
        raise BrokenLaw(f"deadline returns {kind_of(at)}: a time or None was expected")
    _step(state.tick(2.0))
    return state


def patience_doubt(synchronization: Synchronization, members: Sequence[str]) -> str:
    """Return a doubt about the waiting of `synchronization` for a device that sends nothing.

    Empty if no other device of `members` waits, or if the waiting ends and the steps without the
    device are counted.
    """
    *heard, _silent = members
    state = synchronization.start(frozenset(members), 0, dict.fromkeys(members, 10))
    state.begin(0.0)
    for _ in range(_ROUNDS):
        for node in heard:
            if not state.holds(node):
                state.sent(node)
                with suppress(WireError):
                    state.arrive(node, node, 1.0)
    if not any(state.holds(node) for node in heard):
        return ""
    if state.deadline() is None:
        return (
            "devices wait without an end for one that sends nothing, for example one that has "
            "crashed: give it a patience, let `deadline` return a time and `tick` make the step"
        )
    if not isinstance(state, Patient):
        return (
            "it gives up a device that sends nothing, and counts no steps without the device, so "
            "no summary and no report can name it: add the methods of the protocol `Patient`"
        )
    return ""


def _step(step: Any) -> list[Any]:
    """Return the arrivals of `step`. Raises BrokenLaw unless it is a list or None."""
    if step is not None and not isinstance(step, list):
        raise BrokenLaw(f"a step is {kind_of(step)}: a list of arrivals or None was expected")
    return step or []


def _gradient(layout: Layout) -> Vector:
    drawn = chance.stream(chance.codec(0, "trial", 0)).standard_normal(layout.size)
    return np.asarray(drawn / 100, np.float32)


def _methods(protocol: type) -> list[str]:
    # not by `vars`: Python 3.14 makes annotations only when they are asked for
    names = [*vars(protocol), *inspect.get_annotations(protocol)]
    return [name for name in names if not name.startswith("_")]


def _has(made: object, names: Sequence[str], by: str) -> None:
    lacks = [name for name in names if not hasattr(made, name)]
    if lacks:
        raise BrokenLaw(f"{by} returns {kind_of(made)}, which lacks {' and '.join(lacks)}")


TRIALS: dict[str, Callable[[Any, Layout, Sequence[str]], Any]] = {
    "codec": _codec,
    "modulation": _modulation,
    "synchronization": _synchronization,
    "optimizer": _optimizer,
    "aggregation": _aggregation,
    "schedule": _schedule,
}
"""A trial for each part of the training: of a plugin, with the model's layout and the devices.

A trial returns the state that a server would hold of the plugin; None without a state.
"""
