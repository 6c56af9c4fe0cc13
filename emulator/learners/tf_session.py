"""A frozen TensorFlow graph, run through the C library on the calling thread alone."""

import ctypes
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from .capi import Output, TensorFlowError, library
from .tensors import Array, Feed, view

_ONE_THREAD = b"\x10\x01\x28" + b"\xff" * 9 + b"\x01"
"""Serialized ConfigProto: intra_op_parallelism_threads 1, inter_op_parallelism_threads -1. The
latter runs operations on the calling thread; handing them to a pool of one costs 4 % of a step."""

_AS_IT_IS = b"\x52\x05\x52\x03\x98\x01\x01"
"""Serialized ConfigProto: graph_options.rewrite_options.disable_meta_optimizer. The optimizer would
take nearly a second of a core for an unrolled LSTM, at each start of each device, without making
the graph faster."""

_CONFIG = _ONE_THREAD + _AS_IT_IS


class TFSession:
    """Session of one graph for many runs; not for two threads at once."""

    def __init__(self, graph: bytes, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Load `graph`, a serialized GraphDef; `inputs` and `outputs` name its operations."""
        self._tf = tf = library()
        # every handle is freed in reverse order, on an error here or at `close`
        with ExitStack() as held:
            self._status = tf.TF_NewStatus()
            held.callback(tf.TF_DeleteStatus, self._status)
            loaded = tf.TF_NewGraph()
            held.callback(tf.TF_DeleteGraph, loaded)
            self._import(loaded, graph)
            self._session = self._open(loaded)
            held.callback(self._close, tf, self._session)
            self._feeds = [Feed() for _ in inputs]
            for feed in self._feeds:
                held.callback(feed.free)
            self._inputs = self._find(loaded, inputs)
            self._outputs = self._find(loaded, outputs)
            self._finalizer = weakref.finalize(self, held.pop_all().close)

    def close(self) -> None:
        """Free TensorFlow's handles; returned results stay valid."""
        self._finalizer()

    def run(self, *values: Array) -> list[Array]:
        """Return the outputs for these inputs, which must have the graph's types.

        Inputs are copied. Outputs are views of TensorFlow's memory, freed with the arrays. Raises
        TensorFlowError with TensorFlow's message.
        """
        if not self._finalizer.alive:
            raise TensorFlowError("the session is closed")
        fed = zip(self._feeds, values, strict=True)
        inputs = (ctypes.c_void_p * len(values))(*[feed.fill(value) for feed, value in fed])
        results: Any = (ctypes.c_void_p * len(self._outputs))()
        self._tf.TF_SessionRun(
            self._session,
            None,  # run options
            *(self._inputs, inputs, len(inputs)),
            *(self._outputs, results, len(results)),
            *(None, 0),  # operations run for their effect
            *(None, self._status),  # run metadata, status
        )
        self._check()
        return [view(tensor) for tensor in results]

    def _import(self, loaded: int, graph: bytes) -> None:
        """Add the serialized `graph` to the empty graph `loaded`."""
        tf = self._tf
        with ExitStack() as held:
            buffer = tf.TF_NewBufferFromString(graph, len(graph))
            held.callback(tf.TF_DeleteBuffer, buffer)
            options = tf.TF_NewImportGraphDefOptions()
            held.callback(tf.TF_DeleteImportGraphDefOptions, options)
            tf.TF_GraphImportGraphDef(loaded, buffer, options, self._status)
            self._check()

    def _open(self, loaded: int) -> int:
        """Return a new session of the graph `loaded`, on one thread."""
        tf = self._tf
        with ExitStack() as held:
            options = tf.TF_NewSessionOptions()
            held.callback(tf.TF_DeleteSessionOptions, options)
            tf.TF_SetConfig(options, _CONFIG, len(_CONFIG), self._status)
            self._check()
            session: int = tf.TF_NewSession(loaded, options, self._status)
            self._check()
            return session

    @staticmethod
    def _close(tf: Any, session: int) -> None:
        """Delete the session."""
        status = tf.TF_NewStatus()
        tf.TF_DeleteSession(session, status)
        tf.TF_DeleteStatus(status)

    def _find(self, loaded: int, names: Sequence[str]) -> "ctypes.Array[Output]":
        """Return the first output of each named operation. Raises TensorFlowError for missing
        ones."""
        operations = [self._tf.TF_GraphOperationByName(loaded, name.encode()) for name in names]
        missing = [n for n, operation in zip(names, operations, strict=True) if not operation]
        if missing:
            raise TensorFlowError(f"the graph has no operation {' or '.join(missing)}")
        return (Output * len(names))(*[Output(operation, 0) for operation in operations])

    def _check(self) -> None:
        """Raise TensorFlowError if the last call failed."""
        if self._tf.TF_GetCode(self._status):
            raise TensorFlowError(self._tf.TF_Message(self._status).decode(errors="replace"))
