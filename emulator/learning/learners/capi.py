"""TensorFlow's C library through ctypes, so that no device imports TensorFlow's Python package.

The package costs 230 MB in every process, the bare library 30 MB.
"""

import ctypes
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import HostError

_SUFFIX = "2.dylib" if sys.platform == "darwin" else "so.2"
# two files: the library, and the framework library that it loads itself
LIBRARY, FRAMEWORK = f"libtensorflow_cc.{_SUFFIX}", f"libtensorflow_framework.{_SUFFIX}"


class TensorFlowError(RuntimeError):
    """TensorFlow refused a graph or an input; the message is TensorFlow's."""


class Output(ctypes.Structure):
    """TF_Output of the C API: result number `index` of an operation."""

    _fields_ = (("operation", c_void_p), ("index", c_int))


_RESULT_AND_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    # Signatures of tensorflow/c/c_api.h: result, then arguments. Handles are void pointers;
    # undeclared, ctypes would truncate these to 32 bits.
    "TF_Version": (c_char_p,),
    "TF_NewStatus": (c_void_p,),
    "TF_DeleteStatus": (None, c_void_p),
    "TF_GetCode": (c_int, c_void_p),
    "TF_Message": (c_char_p, c_void_p),
    "TF_NewBufferFromString": (c_void_p, c_char_p, c_size_t),
    "TF_DeleteBuffer": (None, c_void_p),
    "TF_NewGraph": (c_void_p,),
    "TF_DeleteGraph": (None, c_void_p),
    "TF_NewImportGraphDefOptions": (c_void_p,),
    "TF_DeleteImportGraphDefOptions": (None, c_void_p),
    "TF_GraphImportGraphDef": (None, c_void_p, c_void_p, c_void_p, c_void_p),
    "TF_GraphOperationByName": (c_void_p, c_void_p, c_char_p),
    "TF_NewSessionOptions": (c_void_p,),
    "TF_DeleteSessionOptions": (None, c_void_p),
    "TF_SetConfig": (None, c_void_p, c_char_p, c_size_t, c_void_p),
    "TF_NewSession": (c_void_p, c_void_p, c_void_p, c_void_p),
    "TF_DeleteSession": (None, c_void_p, c_void_p),
    "TF_SessionRun": (
        None,
        *(c_void_p, c_void_p),  # session, options
        *(POINTER(Output), POINTER(c_void_p), c_int),  # inputs: operations, tensors, number
        *(POINTER(Output), POINTER(c_void_p), c_int),  # outputs: operations, tensors, number
        *(POINTER(c_void_p), c_int),  # operations run for their effect
        *(c_void_p, c_void_p),  # metadata, status
    ),
    "TF_AllocateTensor": (c_void_p, c_int, POINTER(c_int64), c_int, c_size_t),
    "TF_DeleteTensor": (None, c_void_p),
    "TF_TensorData": (c_void_p, c_void_p),
    "TF_TensorType": (c_int, c_void_p),
    "TF_NumDims": (c_int, c_void_p),
    "TF_Dim": (c_int64, c_void_p, c_int),
}


@cache
def library() -> Any:
    """Return the C library, opened at the first call. Raises HostError with the folders searched.

    Warns (RuntimeWarning) where the process had TensorFlow before it had `emulator`, and TensorFlow
    chose other kernels than oneDNN's.

    The library is opened with local symbols, and finds its framework library beside itself. With
    either in the global scope, the BoringSSL inside would replace OpenSSL in a later `import
    hashlib` or `ssl`, and crash.
    """
    path = folder() / LIBRARY
    try:
        with _hushed():
            opened = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise HostError(f"{path} cannot be opened: {error}") from error
    for name, (result, *arguments) in _RESULT_AND_ARGUMENTS.items():
        function = getattr(opened, name)
        function.restype, function.argtypes = result, arguments
    if "tensorflow" in sys.modules and not _with_onednn():
        warnings.warn(
            "TensorFlow was imported before emulator, without oneDNN's kernels: this process "
            "computes other last digits than containers. Import emulator before tensorflow, or set "
            "TF_ENABLE_ONEDNN_OPTS=1.",
            RuntimeWarning,
            stacklevel=2,
        )
    return opened


def folder() -> Path:
    """Return the folder of TensorFlow's two libraries. Raises HostError if there is none.

    Searched are $EMULATE_TENSORFLOW alone, if set; else the folder of our images, then the Python
    package.
    """
    searched = list(_folders())
    for candidate in searched:
        if (candidate / LIBRARY).exists():
            return candidate
    from ...machine.installed import remedy  # imported late: devices need no package metadata

    places = " or ".join(map(str, searched))
    raise HostError(
        f"{LIBRARY} is not in {places}: {remedy()},"
        f" or set EMULATE_TENSORFLOW to a folder that holds it and {FRAMEWORK}"
    )


def _with_onednn() -> bool:
    """Return whether this process computes with oneDNN's kernels; TensorFlow decides that once."""
    framework = ctypes.CDLL(str(folder() / FRAMEWORK), mode=ctypes.RTLD_LOCAL)
    asked = getattr(framework, "_ZN10tensorflow12IsMKLEnabledEv", None)
    if asked is None:  # a build without oneDNN has no other kernels either
        return True
    asked.restype = ctypes.c_bool
    return bool(asked())


@contextmanager
def _hushed() -> Iterator[None]:
    """Silence standard error while the library loads, which logs before it reads the log level."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # errors only, once loaded
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _folders() -> Iterator[Path]:
    """Yield the folders in which TensorFlow's libraries may lie, in order."""
    if chosen := os.environ.get("EMULATE_TENSORFLOW"):
        yield Path(chosen)
        return
    yield Path("/opt/tensorflow")
    package = importlib.util.find_spec("tensorflow")  # finds it without importing it
    for folder in (package and package.submodule_search_locations) or ():
        yield Path(folder)
