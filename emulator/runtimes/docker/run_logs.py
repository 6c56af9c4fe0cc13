"""Writes the output of nodes and the reports of their supervisors to disk during the run."""

import errno
import os
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ...log.lines import line
from ...log.records import Record
from ...runs.folder import RunFolder

LAST = 5
"""Lines of each log that are also kept in memory."""


class NodeLogs:
    """Writes `devices/NAME.log` for each of `nodes`, and `reports.jsonl`."""

    def __init__(self, folder: RunFolder, nodes: Iterable[str]) -> None:
        self._folder = folder
        self._reports = folder.reports.open("ab", buffering=0)
        self._logs = {node: self._path(node).open("ab", buffering=0) for node in nodes}
        self._last = {node: deque[str](maxlen=LAST) for node in self._logs}

    def _path(self, node: str) -> Path:
        return self._folder.devices / f"{node}.log"

    def write(self, node: str, text: str) -> None:
        """Append the line `text` to the log of `node`."""
        self._last[node].append(text)
        self._logs[node].write(f"{text}\n".encode())

    def report(self, record: Record) -> None:
        """Append `record` to the reports, which are merged into the run's log at the end.

        Raises OSError if the disk takes no more: a record that was cut short may be followed by
        none.
        """
        text = line(record)
        if self._reports.write(text) != len(text):  # a disk that has just become full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._folder.reports)

    def ending(self, node: str) -> str:
        """Return the path of the log of `node`, and its last lines, for an error text."""
        lines = "\n".join(f"    {text}" for text in self._last[node] if text.strip())
        return f"{self._path(node)} ends with:\n{lines or '    (it said nothing)'}"

    def close(self) -> None:
        for file in (self._reports, *self._logs.values()):
            with suppress(OSError):
                file.close()
