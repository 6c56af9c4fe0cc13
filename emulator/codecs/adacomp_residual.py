"""AdaComp by residuals: each bin decides how much of it is sent (Chen et al., 2018)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..layout import Kind, Layout
from ..vectors import Frames, Gradient, Indices, Vector
from . import bins, bits, frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .feedback import BUILT_IN
from .indices import IndexCoding
from .sparse import Sparse

_BLOCK = 3 << 15
"""Entries that are looked at together: what is made of them stays in a core's cache."""
_MANY = 20
"""Of so many entries one is sent: from there on NumPy's way to find them is the quicker one."""
_LONGEST = 1 << 14
"""Entries of a bin at most, as in the paper."""
_NOTHING: Vector = np.empty(0, np.float32)
_NO_FLAGS: bits.Bytes = np.empty(0, np.uint8)
_NEVER = np.float32(np.inf)


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

    def start(self, context: EncoderContext) -> Encoder:
        return AdaCompEncoder(self, context.layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        *coded, bias_frame = frame_checks.check_count(frames, 4)
        biases = frame_checks.floats(bias_frame, layout.size)
        expected = sum(one.size for one in layout.variables if one.kind == "bias")
        if biases.size != expected:
            raise WireError(f"{biases.size} biases, expected {expected}")
        most = [0 if one.kind == "bias" else one.size for one in layout.variables]
        return _merged(self.sparse.decode(coded, layout, most), biases, layout)

    def count(self, frames: Frames) -> ByteCount:
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


class AdaCompEncoder:
    """The paper's pack(), with one worker's residual."""

    def __init__(self, codec: AdaCompResidual, layout: Layout) -> None:
        self._codec, self._layout = codec, layout
        self.residual: Vector = np.zeros(layout.size, np.float32)
        # where the next one is made: a gradient may yet be refused
        self._owed: Vector = np.zeros(layout.size, np.float32)
        self._scratch: Vector = np.empty(min(layout.size, max(_BLOCK, 8 * _LONGEST)), np.float32)
        self._reached = np.empty(self._scratch.size, np.bool_)
        self._biases = [part for one, part in layout if one.kind == "bias"]
        binned = [(one.kind, part) for one, part in layout if one.kind != "bias"]
        self._binned = [(part, codec.bin(kind)) for kind, part in binned]
        # each variable has whole bytes of flags: where they end, and how far they are moved by that
        sizes = np.array([part.stop - part.start for _, part in binned], np.intp)
        flags = -(-sizes // 8) * 8
        self._ends = flags.cumsum().astype(np.uint32)
        starts = np.array([part.start for _, part in binned], np.uint32)
        self._moved = starts - (self._ends - flags.astype(np.uint32))

    def encode(self, gradient: Vector) -> Frames:
        frame_checks.check_shape(gradient, self._layout)
        biases = np.concatenate([_NOTHING, *(gradient[part] for part in self._biases)])
        if not np.isfinite(biases).all():
            raise frame_checks.not_finite_error(gradient, self._layout)
        with np.errstate(over="ignore", invalid="ignore"):  # refused by the scale
            looked = [self._look(gradient, *binned) for binned in self._binned]
        scales = np.array([scale for scale, _ in looked], np.float32)
        if not np.isfinite(scales).all():
            raise frame_checks.not_finite_error(self._owed, self._layout)
        chosen, worth = self._send([flags for _, some in looked for flags in some], scales)
        self.residual, self._owed = self._owed, self.residual
        coded = self._codec.sparse.encode(chosen, worth, self._layout)
        return *coded, biases.astype("<f4", copy=False).tobytes()

    def _look(
        self, gradient: Vector, part: slice, length: int
    ) -> tuple[np.float32, list[bits.Bytes]]:
        """The variable's S, and flags where H reaches its bin's largest |G|; `_owed` becomes G."""
        size, flags = part.stop - part.start, []
        maxima: Vector = np.empty(bins.count(size, length), np.float32)
        each = max(8, _BLOCK // length & ~7)  # bins that have whole bytes of flags
        starts = np.arange(0, min(size, each * length), length)
        for first in range(0, maxima.size, each):
            start, last = part.start + first * length, part.start + (first + each) * length
            block = slice(start, min(part.stop, last))
            some, owed = gradient[block], self._owed[block]
            np.add(self.residual[block], some, out=owed)
            most = maxima[first : first + each]
            magnitudes = np.abs(owed, out=self._scratch[: owed.size])
            np.maximum.reduceat(magnitudes, starts[: most.size], out=most)
            flags.append(bits.packed(self._reaching(owed, some, most, length)))
        return np.float32(maxima.mean(dtype=np.float64)), flags

    def _reaching(
        self, owed: Vector, gradient: Vector, maxima: Vector, length: int
    ) -> NDArray[np.bool_]:
        further, reached = self._scratch[: owed.size], self._reached[: owed.size]
        factor = self._codec.factor
        if factor != 2:  # H is G and so much of the gradient
            gradient = np.multiply(gradient, np.float32(factor - 1), out=further)
        np.add(owed, gradient, out=further)
        np.abs(further, out=further)
        # a bin of zeros sends nothing: no need to find that out entry by entry
        levels = np.where(maxima, maxima, _NEVER).repeat(length)[: owed.size]
        return np.greater_equal(further, levels, out=reached)

    def _send(self, flags: list[bits.Bytes], scales: Vector) -> tuple[Indices, Vector]:
        """Which entries are sent, and as what; `_owed` becomes what is left."""
        chosen = _positions(np.concatenate([_NO_FLAGS, *flags]), self._layout.size)
        worth: Vector = np.empty(chosen.size, np.float32)
        start = 0
        for stop, moved, scale in zip(
            chosen.searchsorted(self._ends), self._moved, scales, strict=True
        ):
            chosen[start:stop] += moved
            worth[start:stop] = scale
            start = stop
        where = chosen.astype(np.intp)
        entries = self._owed.take(where)
        if not (scales.all() and entries.all()):
            kept = np.flatnonzero((entries != 0) & (worth > 0))
            chosen, where = chosen.take(kept), where.take(kept)
            worth, entries = worth.take(kept), entries.take(kept)
        np.copysign(worth, entries, out=worth)
        self._owed[where] = np.subtract(entries, worth, out=entries)
        return chosen, worth


def _positions(packed: bits.Bytes, size: int) -> Indices:
    if _MANY * int(np.bitwise_count(packed).sum()) < size:
        return bits.positions(packed)
    return np.flatnonzero(bits.unpacked(packed)).astype(np.uint32)


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
