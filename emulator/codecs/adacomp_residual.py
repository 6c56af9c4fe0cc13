"""Codec `adacomp-residual`: AdaComp by residuals (Chen et al., 2018), adaptive in each bin."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..layout import Kind, Layout
from ..units import Checked
from ..vectors import Frames, Gradient, Indices, Vector
from . import frame_checks, packing
from .base import ByteCount, Encoder, EncoderContext, Memory
from .feedback import BUILT_IN
from .indices import IndexCoding
from .sparse import Sparse

_BLOCK = 3 << 15
"""Entries processed together, so that intermediate arrays stay in a core's cache."""
_MANY = 20
"""If fewer than one entry in this many is sent, `positions` is faster than `flatnonzero`."""
_LONGEST = 1 << 14
"""Longest bin: 16,384 entries, as the paper's 14-bit index within a bin allows."""
_NOTHING: Vector = np.empty(0, np.float32)
_NO_FLAGS: packing.Bytes = np.empty(0, np.uint8)
_NEVER = np.float32(np.inf)
"""Threshold that no magnitude reaches."""


def _check_bin(name: str, entries: int) -> None:
    if not 1 <= entries <= _LONGEST:
        raise ValueError(f"{name} is {entries}: a bin has from 1 to {_LONGEST} entries")


def _check_factor(factor: float) -> None:
    if not 1 <= factor < float("inf"):
        raise ValueError(f"factor is {factor:g}: write a number from 1 up")


@dataclass(frozen=True)
class AdaCompResidual:
    """AdaComp by residuals: each bin of neighbouring entries decides how many entries it sends.

    Algorithm 2 of Chen et al. (2018): with G = residual + gradient and H = G + (factor - 1) ·
    gradient, an entry is sent where |H| reaches the largest |G| of the bin and G is not zero. It is
    sent as sign(G) · S, where S is the mean over a variable's bins of the largest |G|. The residual
    keeps the rest, G - sign(G) · S. Biases are sent uncompressed.

    The frames are those of a sparse gradient with ternary values, then a frame of biases as
    float32. Any optimizer of the server fits.
    """

    conv: Annotated[int, Checked(partial(_check_bin, "conv"))] = 50
    """Entries in a bin of a convolution: the paper's L_T."""
    dense: Annotated[int, Checked(partial(_check_bin, "dense"))] = 500
    """Entries in a bin of a dense or recurrent layer: the paper's L_T."""
    factor: Annotated[float, Checked(_check_factor)] = 2.0
    """Scale factor of the paper, at least 1. Larger factors send more; 1 sends one entry a bin."""
    indices: IndexCoding = "golomb"
    """Coding of the sent entries' indices."""
    kind: Literal["adacomp-residual"] = "adacomp-residual"
    no_feedback: ClassVar[str] = BUILT_IN

    def __post_init__(self) -> None:
        _check_bin("conv", self.conv)
        _check_bin("dense", self.dense)
        _check_factor(self.factor)
        _ = self.sparse

    def start(self, context: EncoderContext) -> Encoder:
        return AdaCompEncoder(self, context.layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        *coded, bias_frame = frame_checks.check_count(frames, 4)
        biases = frame_checks.floats(bias_frame, layout.size)
        expected = sum(variable.size for variable in layout.variables if variable.kind == "bias")
        if biases.size != expected:
            raise WireError(f"{biases.size} biases, expected {expected}")
        limits = [0 if variable.kind == "bias" else variable.size for variable in layout.variables]
        return _merged(self.sparse.decode(coded, layout, limits), biases, layout)

    def count(self, frames: Frames) -> ByteCount:
        *coded, biases = frames
        count = self.sparse.count(coded)
        return count._replace(values=count.values + len(biases))

    def paper(self, gradient: Gradient, layout: Layout) -> dict[Kind, float]:
        """Return bytes by kind of layer as section 3.3 of the paper counts them.

        An entry takes 8 bits where its index in a bin fits into 6 bits, else 16. Scales and the
        framing of bins are not counted, so the wire needs more. A bias takes 32 bits.
        """
        assert gradient.indices is not None
        stops = gradient.indices.searchsorted(np.array([stop for _, stop in layout.bounds]))
        counted: dict[Kind, float] = {}
        for variable, entries in zip(layout.variables, np.diff(stops, prepend=0), strict=True):
            if variable.kind == "bias":
                entry_bytes = 4
            else:  # 6 bits of index and 2 of value, or 14 and 2
                entry_bytes = 1 if self.bin(variable.kind) <= 64 else 2
            counted[variable.kind] = counted.get(variable.kind, 0) + entry_bytes * int(entries)
        return counted

    def bin(self, kind: Kind) -> int:
        """Return the paper's L_T, the entries in a bin, for a layer of `kind`; not for biases."""
        return self.conv if kind == "conv" else self.dense

    @cached_property
    def sparse(self) -> Sparse:
        """Coding of the entries that are sent, biases aside."""
        return Sparse(self.indices, "ternary")


class AdaCompEncoder:
    """The paper's pack() with the residual of one worker."""

    def __init__(self, codec: AdaCompResidual, layout: Layout) -> None:
        self._codec, self._layout = codec, layout
        self.residual: Vector = np.zeros(layout.size, np.float32)
        # G = residual + gradient is made here: a refused gradient must not touch the residual
        self._owed: Vector = np.zeros(layout.size, np.float32)
        self._scratch: Vector = np.empty(min(layout.size, max(_BLOCK, 8 * _LONGEST)), np.float32)
        self._reached = np.empty(self._scratch.size, np.bool_)
        self._biases = [part for variable, part in layout if variable.kind == "bias"]
        binned = [(variable.kind, part) for variable, part in layout if variable.kind != "bias"]
        self._binned = [(part, codec.bin(kind)) for kind, part in binned]
        # The flags of each variable are padded to whole bytes. `_ends` are the padded flags' ends,
        # `_moved` the distance from a flag's position to its parameter's index, modulo 2^32.
        sizes = np.array([part.stop - part.start for _, part in binned], np.intp)
        flags = -(-sizes // 8) * 8
        self._ends = flags.cumsum().astype(np.uint32)
        starts = np.array([part.start for _, part in binned], np.uint32)
        self._moved = starts - (self._ends - flags.astype(np.uint32))

    def encode(self, gradient: Vector) -> Frames:
        frame_checks.check_shape(gradient, self._layout)
        # _NOTHING makes the list non-empty for a model without biases
        biases = np.concatenate([_NOTHING, *(gradient[part] for part in self._biases)])
        if not np.isfinite(biases).all():
            raise frame_checks.not_finite_error(gradient, self._layout)
        with np.errstate(over="ignore", invalid="ignore"):  # shows in the scale, checked below
            examined = [self._examine(gradient, *binned) for binned in self._binned]
        scales = np.array([scale for scale, _ in examined], np.float32)
        if not np.isfinite(scales).all():
            raise frame_checks.not_finite_error(self._owed, self._layout)
        blocks = [flags for _, of_variable in examined for flags in of_variable]
        chosen, values = self._send(blocks, scales)
        self.residual, self._owed = self._owed, self.residual  # nothing fails from here on
        coded = self._codec.sparse.encode(chosen, values, self._layout)
        return *coded, biases.astype("<f4", copy=False).tobytes()

    def memory(self, part: slice) -> Memory:
        return Memory((self.residual[part],))

    def recall(self, part: slice, memory: Memory) -> None:
        (self.residual[part],) = memory.vectors

    def _examine(
        self, gradient: Vector, part: slice, length: int
    ) -> tuple[np.float32, list[packing.Bytes]]:
        """Write G into `_owed`, and return S and packed flags where |H| reaches its bin's largest
        |G|.

        `part` is the variable's slice of the gradient, `length` the number of entries in a bin.
        """
        size, flags = part.stop - part.start, []
        maxima: Vector = np.empty(-(-size // length), np.float32)
        # a multiple of eight bins, so that a block's flags fill whole bytes
        block_bins = max(8, _BLOCK // length & ~7)
        starts = np.arange(0, min(size, block_bins * length), length)
        for first in range(0, maxima.size, block_bins):
            start, last = part.start + first * length, part.start + (first + block_bins) * length
            block = slice(start, min(part.stop, last))
            entries, owed = gradient[block], self._owed[block]
            np.add(self.residual[block], entries, out=owed)
            block_maxima = maxima[first : first + block_bins]
            magnitudes = np.abs(owed, out=self._scratch[: owed.size])
            np.maximum.reduceat(magnitudes, starts[: block_maxima.size], out=block_maxima)
            flags.append(packing.packed(self._reaching(owed, entries, block_maxima, length)))
        # in double precision: the sum of many float32 would lose digits
        return np.float32(maxima.mean(dtype=np.float64)), flags

    def _reaching(
        self, owed: Vector, gradient: Vector, maxima: Vector, length: int
    ) -> NDArray[np.bool_]:
        """Return a flag for each entry of G (`owed`): |H| reaches the maximum of its bin."""
        magnitudes, reached = self._scratch[: owed.size], self._reached[: owed.size]
        factor = self._codec.factor
        if factor != 2:  # H = G + (factor - 1) · gradient; the default needs no product
            gradient = np.multiply(gradient, np.float32(factor - 1), out=magnitudes)
        np.add(owed, gradient, out=magnitudes)
        np.abs(magnitudes, out=magnitudes)
        # in a bin of zeros |H| >= 0 holds everywhere, yet nothing may be sent (G is zero)
        levels = np.where(maxima, maxima, _NEVER).repeat(length)[: owed.size]
        return np.greater_equal(magnitudes, levels, out=reached)

    def _send(self, flags: list[packing.Bytes], scales: Vector) -> tuple[Indices, Vector]:
        """Return indices and values of the entries to send; `_owed` becomes the new residual."""
        chosen = _positions(np.concatenate([_NO_FLAGS, *flags]), self._layout.size)
        values: Vector = np.empty(chosen.size, np.float32)
        # the positions of flags ascend, so each variable's entries are one run of `chosen`
        start = 0
        for stop, moved, scale in zip(
            chosen.searchsorted(self._ends), self._moved, scales, strict=True
        ):
            chosen[start:stop] += moved
            values[start:stop] = scale
            start = stop
        positions = chosen.astype(np.intp)
        entries = self._owed.take(positions)
        # G = 0 is never sent (guard against dead units), nor an entry whose scale rounds to zero
        if not (scales.all() and entries.all()):
            kept = np.flatnonzero((entries != 0) & (values > 0))
            chosen, positions = chosen.take(kept), positions.take(kept)
            values, entries = values.take(kept), entries.take(kept)
        np.copysign(values, entries, out=values)
        self._owed[positions] = np.subtract(entries, values, out=entries)
        return chosen, values


def _positions(packed: packing.Bytes, size: int) -> Indices:
    """Return the positions of the set flags by the faster of two ways, for `size` parameters."""
    if _MANY * int(np.bitwise_count(packed).sum()) < size:
        return packing.positions(packed)
    return np.flatnonzero(packing.unpacked(packed)).astype(np.uint32)


def _merged(sparse: Gradient, biases: Vector, layout: Layout) -> Gradient:
    """Return one gradient of sparse entries and biases, with ascending indices."""
    places = [
        np.arange(*bounds, dtype=np.uint32)
        for variable, bounds in zip(layout.variables, layout.bounds, strict=True)
        if variable.kind == "bias"
    ]
    if sparse.indices is None or not places:
        return sparse
    indices = np.concatenate([sparse.indices, *places])
    order = np.argsort(indices, kind="stable")
    return Gradient(np.concatenate([sparse.values, biases])[order], indices[order])
