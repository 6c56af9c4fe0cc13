"""Tensors: memory of TensorFlow's that NumPy sees, without a copy between the two."""

import ctypes
import math
import weakref
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .capi import TensorFlowError, library

Array: TypeAlias = NDArray[Any]

_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.float32),
    3: np.dtype(np.int32),
    9: np.dtype(np.int64),
}
_CODES = {dtype: code for code, dtype in _TYPES.items()}


class Feed:
    """One input's tensor, kept between runs.

    TensorFlow copies whatever is not aligned as it likes, and what a message holds never is;
    to copy into memory that is already there is cheaper than into new pages.
    """

    def __init__(self) -> None:
        self._tensor: int | None = None
        self._array: Array = np.empty(0, bool)

    def fill(self, value: Array) -> int:
        """The tensor, now with that value. It is the same one while shape and type stay."""
        if self._tensor is None or not self._fits(value):
            self._tensor = self._allocate(value)
        np.copyto(self._array, value)
        return self._tensor

    def free(self) -> None:
        if self._tensor is not None:
            library().TF_DeleteTensor(self._tensor)
        self._tensor = None

    def _fits(self, value: Array) -> bool:
        return self._array.shape == value.shape and self._array.dtype == value.dtype

    def _allocate(self, like: Array) -> int:
        if like.dtype not in _CODES:
            raise TensorFlowError(f"{like.dtype} is not {' or '.join(map(str, _CODES))}")
        self.free()
        shape = (ctypes.c_int64 * like.ndim)(*like.shape)
        tensor: int = library().TF_AllocateTensor(_CODES[like.dtype], shape, like.ndim, like.nbytes)
        memory = _memory(tensor, like.shape, like.dtype)
        self._array = np.frombuffer(memory, like.dtype).reshape(like.shape)
        return tensor


def view(tensor: int) -> Array:
    """What the tensor holds; it is deleted once the last array that sees it is gone."""
    tf = library()
    shape = tuple(tf.TF_Dim(tensor, axis) for axis in range(tf.TF_NumDims(tensor)))
    dtype = _TYPES[tf.TF_TensorType(tensor)]
    memory = _memory(tensor, shape, dtype)
    weakref.finalize(memory, tf.TF_DeleteTensor, tensor)
    return np.frombuffer(memory, dtype).reshape(shape)


def _memory(tensor: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The tensor's bytes, where they lie."""
    size = math.prod(shape) * dtype.itemsize
    return (ctypes.c_ubyte * size).from_address(library().TF_TensorData(tensor))
