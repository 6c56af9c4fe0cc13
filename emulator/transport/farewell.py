"""The goodbye of a device: sent when a signal asks for it, also while a gradient is computed."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.wire.messages import Leave
from .peer import Peer

FLUSH = 60.0
"""Seconds for which the goodbye may wait for the link; the supervisor ends the process before."""


class Farewell(threading.Thread):
    """Waits for a signal; then says goodbye for `node` over `peer`, and ends the process with 0.

    Two threads must not use a socket of libzmq at once. The main thread holds a lock, and gives it
    away while it computes, which may take seconds, or when this thread wakes it from a wait.
    """

    def __init__(self, node: str, peer: Peer, asked_by: signal.Signals) -> None:
        """Take the signal `asked_by` from here on.

        Call this in the main thread, which uses `peer`.
        """
        super().__init__(name="farewell", daemon=True)
        self._node, self._peer = node, peer
        self._socket = threading.Lock()
        self._socket.acquire()
        # The interpreter calls a handler in the main thread, and only between two instructions of
        # Python. To this descriptor it writes at once.
        self._asked, written = os.pipe()
        os.set_blocking(written, False)
        woken, self._wakes = os.pipe()
        peer.interrupt(woken, self._give_way)
        signal.set_wakeup_fd(written)
        signal.signal(asked_by, lambda number, frame: None)
        self.start()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let the goodbye be said while the main thread computes, and does not use the socket."""
        self._socket.release()
        try:
            yield
        finally:
            self._socket.acquire()

    def run(self) -> None:
        os.read(self._asked, 1)
        os.write(self._wakes, b"!")
        with self._socket:
            self._peer.send(Leave(self._node))
            self._peer.flush(FLUSH)
            os._exit(0)

    def _give_way(self) -> None:
        """Let the goodbye be said; the process ends meanwhile."""
        self._socket.release()
        self.join()
