"""AdaComp by residuals: each bin decides how much of it is sent (Chen et al., 2018)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..layout import Kind, Layout
from . import bins, bits, checks
from .base import Count, Encoder, Frames, Gradient, Place, Vector
from .feedback import BUILT_IN
from .indices import IndexCoding
from .sparse import Sparse

_BLOCK = 1 << 17
"""Entries that are looked at together: what is made of them stays in a core's cache."""
_MANY = 20
"""Of so many entries one is sent: from there on NumPy's way to find them is the quicker one."""
_LONGEST = 1 << 14
"""Entries of a bin at most, as in the paper."""
_NOTHING: Vector = np.empty(0, np.float32)


@dataclass(frozen=True)
class AdaCompResidual:
    """Algorithm 2 of the paper. With G = residual + gradient, H = G + (factor - 1) · gradient:

    an entry of a bin is sent where |H| reaches the bin's largest |G|, and G is not zero. It is
    sent as sign(G) · S, where S is the mean over the variable's bins of their largest |G|, and
    G - sign(G) · S stays in the residual. Biases are sent whole.

    The frames are those of a sparse gradient with ternary values, and then the biases. The
    server's step may be any optimizer's.
    """

    conv: int = 50
    """The paper's L_T for convolutions: how many neighbours make a bin."""
    dense: int = 500
    """L_T for dense and recurrent layers."""
    factor: float = 2.0
    """The paper's scale factor: more is sent with a larger one; with 1, one entry a bin."""
    indices: IndexCoding = "golomb"
    kind: Literal["adacomp-residual"] = "adacomp-residual"
    no_feedback: ClassVar[str] = BUILT_IN

    def __post_init__(self) -> None:
        for name in ("conv", "dense"):
            if not 1 <= getattr(self, name) <= _LONGEST:
                found = f"{name} is {getattr(self, name)}"
                raise ValueError(f"{found}: a bin has from 1 to {_LONGEST} entries")
        if not 1 <= self.factor < float("inf"):
            raise ValueError(f"factor is {self.factor:g}: write a number from 1 up")
        _ = self.sparse

    def start(self, place: Place) -> Encoder:
        return Packer(self, place.layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        *coded, bias_frame = checks.frames_of(frames, 4)
        biases = checks.floats(bias_frame, layout.size)
        expected = sum(one.size for one in layout.variables if one.kind == "bias")
        if biases.size != expected:
            raise WireError(f"{biases.size} biases, expected {expected}")
        most = [0 if one.kind == "bias" else one.size for one in layout.variables]
        return _merged(self.sparse.decode(coded, layout, most), biases, layout)

    def count(self, frames: Frames) -> Count:
        *coded, biases = frames
        count = self.sparse.count(coded)
        return count._replace(values=count.values + len(biases))

    def paper(self, gradient: Gradient, layout: Layout) -> dict[Kind, float]:
        """Bytes by kind of layer as section 3.3 counts them, which is not what is on the wire.

        An entry takes 8 bits where its index in a bin fits into 6 of them, else 16; scales and
        what tells the bins apart are not counted. A bias is a float32.
        """
        assert gradient.indices is not None
        stops = gradient.indices.searchsorted(np.array([stop for _, stop in layout.bounds]))
        counted: dict[Kind, float] = {}
        for variable, entries in zip(layout.variables, np.diff(stops, prepend=0), strict=True):
            each = 4 if variable.kind == "bias" else 1 if self.bin(variable.kind) <= 64 else 2
            counted[variable.kind] = counted.get(variable.kind, 0) + each * int(entries)
        return counted

    def bin(self, kind: Kind) -> int:
        """L_T of a layer; not for biases."""
        return self.conv if kind == "conv" else self.dense

    @cached_property
    def sparse(self) -> Sparse:
        return Sparse(self.indices, "ternary")


class Packer:
    """The paper's pack(), with one worker's residual."""

    def __init__(self, codec: AdaCompResidual, layout: Layout) -> None:
        self._codec, self._layout = codec, layout
        self.residual: Vector = np.zeros(layout.size, np.float32)
        self._scratch: Vector = np.empty(max(_BLOCK, 8 * _LONGEST), np.float32)
        self._flags = np.empty(self._scratch.size, np.bool_)
        # where the next one is made: a gradient may yet be refused
        self._owed: Vector = np.zeros(layout.size, np.float32)

    def encode(self, gradient: Vector) -> Frames:
        checks.fit(gradient, self._layout)
        biases, chosen, worth = [_NOTHING], [np.empty(0, np.intp)], [_NOTHING]
        for variable, part in self._layout:
            if variable.kind == "bias":
                biases.append(gradient[part])
                continue
            found, sent = self._pack(gradient, part, self._codec.bin(variable.kind))
            chosen.append(found + part.start)
            worth.append(sent)
        whole = np.concatenate(biases)
        if not np.isfinite(whole).all():
            raise checks.not_finite(gradient, self._layout)
        indices, values = np.concatenate(chosen), np.concatenate(worth)
        self.residual, self._owed = self._owed, self.residual
        coded = self._codec.sparse.encode(indices.astype(np.uint32), values, self._layout)
        return *coded, whole.astype("<f4", copy=False).tobytes()

    def _pack(
        self, gradient: Vector, part: slice, length: int
    ) -> tuple[NDArray[np.integer], Vector]:
        """Which entries of the variable are sent, and as what; `_owed` becomes what is left."""
        owed, size = self._owed[part], part.stop - part.start
        maxima: Vector = np.empty(bins.count(size, length), np.float32)
        # whole bytes of flags, so that those of all blocks are looked through together
        each, packed = max(8, _BLOCK // length & ~7), []
        for first in range(0, maxima.size, each):
            start, last = first * length, (first + each) * length
            block = slice(part.start + start, min(part.start + last, part.stop))
            flags = self._look(gradient[block], block, length, maxima[first : first + each])
            packed.append(bits.packed(flags))
        scale = np.float32(maxima.mean(dtype=np.float64))
        if not np.isfinite(scale):
            raise checks.not_finite(self._owed, self._layout)
        found = _positions(np.concatenate(packed), size)
        entries = owed[found]
        if not (scale and entries.all()):
            found = found[(entries != 0) & (scale > 0)]
            entries = owed[found]
        sent = np.copysign(scale, entries)
        owed[found] = np.subtract(entries, sent, out=entries)
        return found, sent

    def _look(
        self, gradient: Vector, block: slice, length: int, maxima: Vector
    ) -> NDArray[np.bool_]:
        """Where H reaches its bin's largest |G|; these are noted, and G."""
        owed, scratch = self._owed[block], self._scratch[: gradient.size]
        flags = self._flags[: gradient.size]
        with np.errstate(over="ignore", invalid="ignore"):  # refused by the scale
            np.add(self.residual[block], gradient, out=owed)
            np.abs(owed, out=scratch)
            np.maximum.reduceat(scratch, np.arange(0, owed.size, length), out=maxima)
            np.add(owed, self._further(gradient), out=scratch)
            np.abs(scratch, out=scratch)
            # a bin of zeros sends nothing: no need to find that out entry by entry
            levels = np.where(maxima, maxima, np.float32(np.inf))[:, None]
            pairs = zip(bins.rows(scratch, length), bins.rows(flags, length), strict=True)
            for (which, entries), (_, reached) in pairs:
                np.greater_equal(entries, levels[which], out=reached)
        return flags

    def _further(self, gradient: Vector) -> Vector:
        """H is G and this."""
        factor = self._codec.factor
        return gradient if factor == 2 else gradient * np.float32(factor - 1)


def _positions(packed: NDArray[np.uint8], size: int) -> NDArray[np.integer]:
    if _MANY * int(np.bitwise_count(packed).sum()) < size:
        return bits.positions(packed)
    return np.flatnonzero(bits.unpacked(packed, size))


def _merged(sparse: Gradient, biases: Vector, layout: Layout) -> Gradient:
    """One gradient of both, its indices ascending."""
    places = [
        np.arange(*bounds, dtype=np.uint32)
        for one, bounds in zip(layout.variables, layout.bounds, strict=True)
        if one.kind == "bias"
    ]
    if sparse.indices is None or not places:
        return sparse
    indices = np.concatenate([sparse.indices, *places])
    order = np.argsort(indices, kind="stable")
    return Gradient(np.concatenate([sparse.values, biases])[order], indices[order])
