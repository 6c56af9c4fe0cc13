"""Tensors of TensorFlow's C API as NumPy arrays, without copies on the way out."""

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
"""NumPy type of each TF_DataType in use."""
_CODES = {dtype: code for code, dtype in _TYPES.items()}


class Feed:
    """The tensor of one graph input, reused between runs.

    TensorFlow copies unaligned memory anyway, and a message's payload is never aligned. A copy into
    existing memory is cheaper than one into new pages.
    """

    def __init__(self) -> None:
        self._tensor: int | None = None
        self._array: Array = np.empty(0, bool)

    def fill(self, value: Array) -> int:
        """Return the tensor after writing `value`. It stays the same while shape and type do."""
        if self._tensor is None or not self._fits(value):
            self._tensor = self._allocate(value)
        np.copyto(self._array, value)
        return self._tensor

    def free(self) -> None:
        """Delete the tensor."""
        if self._tensor is not None:
            library().TF_DeleteTensor(self._tensor)
        self._tensor = None

    def _fits(self, value: Array) -> bool:
        """Return whether the present tensor has the shape and type of `value`."""
        return self._array.shape == value.shape and self._array.dtype == value.dtype

    def _allocate(self, like: Array) -> int:
        """Return a new tensor of the shape and type of `like`. Raises TensorFlowError."""
        if like.dtype not in _CODES:
            raise TensorFlowError(f"{like.dtype} is not {' or '.join(map(str, _CODES))}")
        self.free()
        shape = (ctypes.c_int64 * like.ndim)(*like.shape)
        tensor: int = library().TF_AllocateTensor(_CODES[like.dtype], shape, like.ndim, like.nbytes)
        memory = _memory(tensor, like.shape, like.dtype)
        self._array = np.frombuffer(memory, like.dtype).reshape(like.shape)
        return tensor


def view(tensor: int) -> Array:
    """Return the contents of `tensor`, deleted after the last array that refers to it."""
    array, memory = _contents(tensor)
    # arrays keep `memory` alive as their base, so its finalizer runs after the last of them
    weakref.finalize(memory, library().TF_DeleteTensor, tensor)
    return array


def contents(tensor: int) -> Array:
    """Return the contents of `tensor`, which are valid until somebody deletes the tensor."""
    return _contents(tensor)[0]


def _contents(tensor: int) -> tuple[Array, Any]:
    """Return the contents of `tensor` in place, and the memory on which they are."""
    tf = library()
    shape = tuple(tf.TF_Dim(tensor, axis) for axis in range(tf.TF_NumDims(tensor)))
    dtype = _TYPES[tf.TF_TensorType(tensor)]
    memory = _memory(tensor, shape, dtype)
    return np.frombuffer(memory, dtype).reshape(shape), memory


def _memory(tensor: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return the bytes of `tensor` in place, without a copy."""
    size = math.prod(shape) * dtype.itemsize
    return (ctypes.c_ubyte * size).from_address(library().TF_TensorData(tensor))
