"""A frozen TensorFlow graph and runs of its parts, through the C library on the calling thread."""

import ctypes
import weakref
from collections.abc import Mapping, Sequence
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


class LoadedGraph:
    """A graph in a session, of which any part may be run; not for two threads at once.

    A part of a graph is what its outputs need, down to the inputs that are fed.
    """

    def __init__(self, graph: bytes) -> None:
        """Load `graph`, a serialized GraphDef. Raises TensorFlowError."""
        self._tf = tf = library()
        self.feeds: dict[str, Feed] = {}
        """Tensors of inputs, by name."""
        # every handle is freed in reverse order, on an error here or at `close`
        with ExitStack() as held:
            self._status = tf.TF_NewStatus()
            held.callback(tf.TF_DeleteStatus, self._status)
            self._graph = tf.TF_NewGraph()
            held.callback(tf.TF_DeleteGraph, self._graph)
            self._import(graph)
            self._session = self._open()
            held.callback(_close, tf, self._session)
            held.callback(_free, self.feeds)
            self._finalizer = weakref.finalize(self, held.pop_all().close)

    def close(self) -> None:
        """Free TensorFlow's handles; results stay valid."""
        self._finalizer()

    def feed(self, name: str, value: Array) -> int:
        """Return the tensor of the input `name` after copying `value` to it; the graph keeps it.

        The type must be that of the input. Raises TensorFlowError for a type that no input has.
        """
        feed = self.feeds.get(name)
        if feed is None:
            feed = self.feeds[name] = Feed()
        return feed.fill(value)

    def find(self, names: Sequence[str]) -> "ctypes.Array[Output]":
        """Return the tensors called `operation:index`, or `operation` for the first of its results.

        Raises TensorFlowError for missing ones.
        """
        parted = [name.partition(":") for name in names]
        find = self._tf.TF_GraphOperationByName
        operations = [find(self._graph, operation.encode()) for operation, _, _ in parted]
        missing = [n for n, operation in zip(names, operations, strict=True) if not operation]
        if missing:
            raise TensorFlowError(f"the graph has no operation {' or '.join(missing)}")
        indices = [int(index or 0) for _, _, index in parted]
        return (Output * len(names))(*map(Output, operations, indices))

    def run(
        self,
        inputs: "ctypes.Array[Output]",
        tensors: Sequence[int],
        outputs: "ctypes.Array[Output]",
    ) -> Sequence[int]:
        """Return the tensors of `outputs`, computed from the `tensors` of `inputs`.

        The caller deletes them. Raises TensorFlowError with TensorFlow's message.
        """
        if not self._finalizer.alive:
            raise TensorFlowError("the session is closed")
        results: Any = (ctypes.c_void_p * len(outputs))()
        self._tf.TF_SessionRun(
            self._session,
            None,  # run options
            *(inputs, (ctypes.c_void_p * len(tensors))(*tensors), len(tensors)),
            *(outputs, results, len(results)),
            *(None, 0),  # operations run for their effect
            *(None, self._status),  # run metadata, status
        )
        self._check()
        return [*results]

    def _import(self, graph: bytes) -> None:
        """Add the serialized `graph` to the empty graph."""
        tf = self._tf
        with ExitStack() as held:
            buffer = tf.TF_NewBufferFromString(graph, len(graph))
            held.callback(tf.TF_DeleteBuffer, buffer)
            options = tf.TF_NewImportGraphDefOptions()
            held.callback(tf.TF_DeleteImportGraphDefOptions, options)
            tf.TF_GraphImportGraphDef(self._graph, buffer, options, self._status)
            self._check()

    def _open(self) -> int:
        """Return a new session of the graph, on one thread."""
        tf = self._tf
        with ExitStack() as held:
            options = tf.TF_NewSessionOptions()
            held.callback(tf.TF_DeleteSessionOptions, options)
            tf.TF_SetConfig(options, _CONFIG, len(_CONFIG), self._status)
            self._check()
            session: int = tf.TF_NewSession(self._graph, options, self._status)
            self._check()
            return session

    def _check(self) -> None:
        """Raise TensorFlowError if the last call failed."""
        if self._tf.TF_GetCode(self._status):
            raise TensorFlowError(self._tf.TF_Message(self._status).decode(errors="replace"))


def _close(tf: Any, session: int) -> None:
    """Delete the session."""
    status = tf.TF_NewStatus()
    tf.TF_DeleteSession(session, status)
    tf.TF_DeleteStatus(status)


def _free(feeds: dict[str, Feed]) -> None:
    """Delete the tensors of the `feeds`."""
    for feed in feeds.values():
        feed.free()


class PartialRun:
    """A run of a part of a graph, from given tensors to results, both by name.

    The part may be the whole graph.
    """

    def __init__(self, graph: LoadedGraph, given: Sequence[str], results: Sequence[str]) -> None:
        self._graph, self.given, self.results = graph, given, results
        self._inputs = graph.find(given) if given else (Output * 0)()
        self._outputs = graph.find(results) if results else (Output * 0)()

    def __call__(self, tensors: Mapping[str, int]) -> dict[str, int]:
        """Return the results by name, which the caller deletes, computed from the `tensors`."""
        fed = [tensors[name] for name in self.given]
        computed = self._graph.run(self._inputs, fed, self._outputs)
        return dict(zip(self.results, computed, strict=True))

    def arrays(self, tensors: Mapping[str, int]) -> dict[str, Array]:
        """Return the results as arrays: views of TensorFlow's memory, freed with the arrays."""
        return {name: view(tensor) for name, tensor in self(tensors).items()}
