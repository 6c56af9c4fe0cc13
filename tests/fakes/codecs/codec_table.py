"""The codecs other than dense and top-k, and each as its paper has it, entry by entry."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from emulator.codecs import (
    DGC,
    QSGD,
    AdaCompResidual,
    Codec,
    Dryden,
    EFSignSGD,
    EncoderContext,
    OneBit,
    RandomK,
    SignSGD,
    Strom,
    TernGrad,
    Threshold,
)
from emulator.layout import Layout, Variable
from emulator.units import Fraction
from emulator.vectors import Gradient, Vector

F = np.float32
Naive = Callable[[Vector], Vector]
"""One worker: a gradient in, what its update says out."""


def layout(*variables: tuple[str, tuple[int, ...]]) -> Layout:
    """Of kinds and shapes."""
    return Layout(
        tuple(Variable(f"v{i}", shape, kind, i) for i, (kind, shape) in enumerate(variables))  # type: ignore[arg-type]
    )


SMALL = layout(("conv", (3, 3, 1, 4)), ("bias", (4,)), ("dense", (7, 5)), ("recurrent", (11,)))


def place(shape: Layout, seed: int = 0) -> EncoderContext:
    return EncoderContext(shape, np.random.default_rng(seed), workers=4, epoch=2)


def spread(gradient: Gradient, size: int) -> Vector:
    """The gradient with its zeros."""
    if gradient.indices is None:
        return gradient.values
    whole = np.zeros(size, F)
    whole[gradient.indices] = gradient.values
    return whole


def share(keep: Fraction, size: int) -> int:
    return max(1, math.floor(round(float(keep) * size, 6)))


def ranked(values: list[float], most: int) -> list[int]:
    """Largest magnitude first, the lower index among equals, no zeros."""
    order = sorted(range(len(values)), key=lambda i: (-abs(values[i]), i))
    return [i for i in order[:most] if values[i] != 0]


def mean(values: list[float]) -> Any:
    return F(math.fsum(values) / len(values)) if values else F(0)


def feeding_back(quantize: Callable[[Vector, Layout], Vector]) -> Callable[[Any, Layout], Naive]:
    """Seide et al., 2014: what is not sent is added to the next gradient."""

    def start(codec: Any, shape: Layout) -> Naive:
        residual = np.zeros(shape.size, F)

        def step(gradient: Vector) -> Vector:
            nonlocal residual
            owed = residual + gradient
            sent = quantize(codec, owed, shape)  # type: ignore[call-arg, arg-type]
            residual = owed - sent
            return sent

        return step

    return start


def threshold(codec: Threshold, shape: Layout) -> Naive:
    return lambda g: np.array([x if abs(x) >= F(codec.threshold) else 0 for x in g], F)


def strom(codec: Strom, owed: Vector, shape: Layout) -> Vector:
    tau = F(codec.threshold)
    return np.array([tau if x > tau else -tau if x < -tau else 0 for x in owed], F)


def dryden(codec: Dryden, owed: Vector, shape: Layout) -> Vector:
    sent = np.zeros_like(owed)
    for _, part in shape:
        for sign in (1, -1):
            side = [x if x * sign > 0 else 0.0 for x in owed[part].tolist()]
            chosen = ranked(side, share(codec.keep, sum(x != 0 for x in side)))
            sent[part][chosen] = mean([side[i] for i in chosen])
    return sent


def onebit(codec: OneBit, owed: Vector, shape: Layout) -> Vector:
    sent = np.zeros_like(owed)
    for variable, part in shape:
        columns = variable.shape[-1] if len(variable.shape) > 1 else 1
        for column in range(columns):
            entries = owed[part][column::columns]
            below = mean([x for x in entries.tolist() if x < 0])
            above = mean([x for x in entries.tolist() if x >= 0])
            sent[part][column::columns] = [below if x < 0 else above for x in entries]
    return sent


def ef_signsgd(codec: EFSignSGD, owed: Vector, shape: Layout) -> Vector:
    sent = np.zeros_like(owed)
    for _, part in shape:
        scale = mean([abs(x) for x in owed[part].tolist()])
        sent[part] = [-scale if x < 0 else scale for x in owed[part]]
    return sent


def signsgd(codec: SignSGD, shape: Layout) -> Naive:
    return lambda g: np.array([-1 if x < 0 else 1 for x in g], F)


def dgc(codec: DGC, shape: Layout) -> Naive:
    """Algorithm 4, with the sparsity of section 3.3: 75 %, 93.75 %, 98.4375 %, 99.6 %."""
    u, v, updates = np.zeros(shape.size, F), np.zeros(shape.size, F), 0

    def step(g: Vector) -> Vector:
        nonlocal updates
        norm = math.sqrt(math.fsum(x * x for x in g.tolist()))
        if codec.clip is not None and norm > codec.clip / 4**0.5:
            g = g * F(codec.clip / 4**0.5 / norm)
        epoch = updates // 2
        keep = max(0.25 ** (epoch + 1), codec.keep) if epoch < codec.warm_up else codec.keep
        u[:] = F(codec.momentum) * u + g
        v[:] = v + u
        sent = np.zeros_like(v)
        for _, part in shape:
            size = part.stop - part.start
            chosen = ranked(v[part].tolist(), share(Fraction(keep), size))
            sent[part][chosen] = v[part][chosen]
        v[sent != 0] = 0
        u[sent != 0] = 0
        updates += 1
        return sent

    return step


def adacomp_residual(codec: AdaCompResidual, shape: Layout) -> Naive:
    """Algorithm 2, line by line."""
    residue = np.zeros(shape.size, F)

    def step(dw: Vector) -> Vector:
        sent = np.zeros_like(dw)
        for variable, part in shape:
            if variable.kind == "bias":
                sent[part] = dw[part]
                continue
            length = codec.conv if variable.kind == "conv" else codec.dense
            g = residue[part] + dw[part]
            h = g + F(codec.factor - 1) * dw[part]
            cut = [slice(at, at + length) for at in range(0, g.size, length)]
            maxima = [abs(g[bin]).max() for bin in cut]
            scale = mean([float(x) for x in maxima])
            for bin, largest in zip(cut, maxima, strict=True):
                for i in range(*bin.indices(g.size)):
                    if abs(h[i]) >= largest and g[i] != 0:
                        sent[part][i] = math.copysign(scale, g[i])
            residue[part] = g - sent[part]
        return sent

    return step


@dataclass(frozen=True)
class Row:
    """A codec with its expected results, and its relation to a memory."""

    codec: Any
    naive: Callable[[Any, Layout], Naive] | None = None
    """The paper's definition; None for a codec with random numbers or with rounded values."""
    keeps: bool = False
    """Whether the codec's encoder has a `residual`: the sum of the entries not sent."""
    feedback: bool = False
    """Whether error feedback may go around the codec."""


ROWS = {
    "threshold": Row(Threshold(0.5), threshold, feedback=True),
    "threshold-f16": Row(Threshold(0.5, "u32", "f16"), feedback=True),
    "randomk": Row(RandomK(Fraction.parse("20%"))),
    "randomk-as-is": Row(RandomK(Fraction.parse("20%"), unbiased=False), feedback=True),
    "adacomp-residual": Row(AdaCompResidual(5, 8), adacomp_residual, keeps=True),
    "adacomp-residual-3": Row(AdaCompResidual(4, 7, 3.0, "u32"), adacomp_residual, keeps=True),
    "adacomp-residual-default": Row(AdaCompResidual(), adacomp_residual, keeps=True),
    "dgc": Row(DGC(Fraction.parse("3%"), warm_up=1), dgc),
    "dgc-clip": Row(DGC(Fraction.parse("10%"), 0.5, 1.0, 0, "u32"), dgc),
    "dgc-f16": Row(DGC(Fraction.parse("10%"), values="f16")),
    "dryden": Row(Dryden(Fraction.parse("20%")), feeding_back(dryden), keeps=True),
    "strom": Row(Strom(0.75), feeding_back(strom), keeps=True),
    "onebit": Row(OneBit(), feeding_back(onebit), keeps=True),
    "ef-signsgd": Row(EFSignSGD(), feeding_back(ef_signsgd), keeps=True),
    "signsgd": Row(SignSGD(), signsgd),
    "qsgd": Row(QSGD(), feedback=True),
    "qsgd-4": Row(QSGD(levels=4, bucket=10), feedback=True),
    "qsgd-127": Row(QSGD(levels=127, bucket=7), feedback=True),
    "terngrad": Row(TernGrad(), feedback=True),
    "terngrad-whole": Row(TernGrad(clip=0), feedback=True),
}


def rows(choose: Callable[[Row], bool] = lambda row: True) -> list[Any]:
    return [pytest.param(row, id=name) for name, row in ROWS.items() if choose(row)]


def updates(codec: Codec, shape: Layout, gradients: Iterator[Vector]) -> Iterator[Vector]:
    """Yield the decoded update for every gradient of a worker."""
    encoder = codec.start(place(shape))
    for gradient in gradients:
        yield spread(codec.decode(encoder.encode(gradient), shape), shape.size)
