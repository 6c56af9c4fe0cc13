"""The journal of a process on disk: its inputs, and its states in between.

A state is due once a replay of the inputs since the last one would take about `REPLAY` seconds, or
once they take `ROOM` bytes, so both recovery and disk are bounded. States are written by a thread:
the process waits for a copy of its arrays alone.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from ...plugins.stateful import copied
from ...vectors import Buffer
from .packed_state import packed
from .segment_file import SegmentWriter
from .state_folder import StateFolder

REPLAY = 1.0
"""Seconds of a process's work between two states."""
ROOM = 256 << 20
"""Bytes of inputs between two states; for a large model more, as many as four states have."""


class Journal:
    """Writes inputs and states to a folder. Without `open` it writes states alone."""

    def __init__(self, folder: StateFolder, before: Callable[[], None] = lambda: None) -> None:
        """`before` is called before each state is written, also by the thread."""
        self._folder, self._before = folder, before
        self._log: SegmentWriter | None = None
        self._spent = 0.0  # seconds of work on the inputs since the last state
        self._room = ROOM
        self._thread = ThreadPoolExecutor(1)
        self._saving: Future[None] | None = None

    def open(self, number: int, *, due: bool) -> None:
        """Begin with the input `number`; `due`: a state is due, as a replay took time."""
        self._log = self._folder.begin_segment(number)
        if due:
            self._spent = REPLAY

    @property
    def number(self) -> int:
        """Number of the next input."""
        assert self._log is not None
        return self._log.number

    @property
    def is_open(self) -> bool:
        """Whether inputs are written."""
        return self._log is not None

    def append(self, parts: Sequence[Buffer]) -> None:
        """Append the record of an input. Raises OSError if the disk takes no more."""
        assert self._log is not None
        self._log.append(parts)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Count the time of the block, which takes an input."""
        began = time.perf_counter()
        yield
        self._spent += time.perf_counter() - began

    @property
    def due(self) -> bool:
        """Whether a state is due, as of the inputs."""
        return self._log is not None and (self._spent > REPLAY or self._log.size > self._room)

    def ready(self) -> bool:
        """Return whether no state is being written. Raises OSError if the disk took not the last.

        A write takes about as long as the disk needs for a state.
        """
        if self._saving is not None:
            if not self._saving.done():
                return False
            self.finish()
        return True

    def finish(self) -> None:
        """Wait for the state that is being written. Raises OSError if the disk took no more."""
        if self._saving is not None:
            self._saving.result()
            self._saving = None

    def save(self, number: int, facts: dict[str, Any], state: Any) -> None:
        """Have the `state` before the input `number` written by the thread, with `facts`."""
        began = time.perf_counter()
        state = copied(state)
        if self._log is not None:
            self._log.close()
            self._log = self._folder.begin_segment(number)
        self._saving = self._thread.submit(self.write, number, facts, state)
        # so that large states do not take more than a tenth of the process's time
        self._spent = min(0.0, REPLAY - 10 * (time.perf_counter() - began))

    def write(self, number: int, facts: dict[str, Any], state: Any) -> None:
        """Write the `state` before the input `number` to the disk, with `facts`."""
        self._before()
        self._room = max(ROOM, 4 * self._folder.save(number, facts, packed(state)))

    def close(self) -> None:
        """Wait for the state that is being written, and close the log."""
        self._thread.shutdown()
        if self._log is not None:
            self._log.close()
