"""Tries the laws of codecs on small gradients first: what `emulate test-codec` runs.

The smallest cases come first, and the gradients of a case that breaks a law are made simpler while
they break it, so that a message can show them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ... import chance
from ...codecs.base import Codec
from ...layout import Layout, Variable
from ...vectors import NotFinite
from . import codec_laws
from .codec_laws import BrokenLaw, Case, Law, named

LARGE = 2.0**100
"""Magnitude up to which every finite entry must be encoded."""

_F = np.float32


@dataclass(frozen=True)
class Verdict:
    """The result of a law: a codec keeps it if `problem` is empty."""

    name: str
    law: str
    """The law in words."""
    problem: str = ""
    example: str = ""
    """The smallest case found that breaks the law."""


LAWS: dict[str, tuple[str, Law]] = {
    "charged": ("every byte that it sends is counted, by content", codec_laws.charged),
    "decoded": ("decode returns what the frames say, always the same", codec_laws.decoded),
    "repeatable": (
        "the same draws give the same bytes",
        codec_laws.repeatable,
    ),
    "finite": ("NaN and infinities are refused, without a trace", codec_laws.finite),
    "fitting": ("a gradient of another model is refused", codec_laws.fitting),
    "hostile": ("frames that it cannot have made are refused", codec_laws.hostile),
    "feedback": ("error feedback loses nothing", codec_laws.feedback),
    "remembered": ("its memory outlives a crash that keeps the state", codec_laws.remembered),
    "segmented": ("it encodes segments of layers, or says why not", codec_laws.segmented),
    "carried": ("its fields travel as plain data", codec_laws.carried),
}
"""The laws by name, in the order in which they are tried, each in words."""


def examine(codec: Codec) -> Iterator[Verdict]:
    """Try each law on `codec`, and yield the verdicts."""
    for name, (words, law) in LAWS.items():
        for case in _cases():
            if problem := _problem(law, codec, case):
                least = _simpler(law, codec, case)
                yield Verdict(name, words, _problem(law, codec, least) or problem, str(least))
                break
        else:
            yield Verdict(name, words)


def _problem(law: Law, codec: Codec, case: Case) -> str:
    """Return how `codec` breaks `law` in `case`; empty if it keeps the law."""
    try:
        with np.errstate(all="ignore"):
            law(codec, case._replace(gradients=tuple(g.copy() for g in case.gradients)))
    except BrokenLaw as broken:
        return str(broken)
    except NotFinite as error:
        # sums of large entries may overflow, and are refused then
        large = max(float(np.abs(gradient).max()) for gradient in case.gradients) > LARGE
        return "" if large else f"raises {named(error)}"
    except Exception as error:
        return f"raises {named(error)}"
    return ""


def _simpler(law: Law, codec: Codec, case: Case) -> Case:
    """Return `case` with fewer gradients, and more entries of 0 or 1, that still breaks `law`."""
    if case.layout.size > 64:
        return case
    for count in range(1, len(case.gradients)):
        shorter = case._replace(gradients=case.gradients[:count])
        if _problem(law, codec, shorter):
            case = shorter
            break
    for number in range(len(case.gradients)):
        for at in range(case.layout.size):
            for value in (0.0, 1.0):
                changed = [gradient.copy() for gradient in case.gradients]
                if changed[number][at] in (0.0, value):
                    continue
                changed[number][at] = value
                tried = case._replace(gradients=tuple(changed))
                if _problem(law, codec, tried):
                    case = tried
                    break
    return case


def _cases() -> Iterator[Case]:
    """Yield the cases, the smallest first, the same at each call."""
    rng = chance.stream(chance.codec(1, "cases", 0))
    for shapes in _MODELS:
        layout = _layout(shapes)
        size = layout.size
        spike = np.zeros(size, _F)
        spike[-1] = -1
        yield Case(layout, (np.ones(size, _F),))
        yield Case(layout, (np.zeros(size, _F),))
        yield Case(layout, (spike, np.ones(size, _F)))
        normal = rng.standard_normal((4, size)).astype(_F)
        yield Case(layout, tuple(normal))
        for scale in (1e-45, 1e-30, 2.0**99, 3e38):
            yield Case(layout, (np.clip(normal[0], -1, 1) * _F(scale), normal[1]))


_MODELS: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...] = (
    (("dense", (1,)),),
    (("dense", (2,)),),
    (("dense", (3,)), ("bias", (2,))),
    (("conv", (2, 2, 1, 2)), ("bias", (2,)), ("dense", (4, 3)), ("bias", (3,))),
    (("conv", (5, 5, 1, 20)), ("bias", (20,)), ("dense", (61, 53)), ("bias", (53,))),
)
"""Kinds and shapes of the variables of the models; a bias belongs to the layer before it."""


def _layout(shapes: Sequence[tuple[str, tuple[int, ...]]]) -> Layout:
    layer, variables = 0, []
    for number, (kind, shape) in enumerate(shapes):
        layer += kind != "bias"
        variables.append(Variable(f"v{number}", shape, kind, layer))  # type: ignore[arg-type]
    return Layout(tuple(variables))
