"""Synchronization `asynchronous`: every gradient is a step, in the order of arrival."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .softsync import Collecting


@dataclass(frozen=True)
class Asynchronous:
    """Asynchronous: every gradient is a step at once, and a worker's next model is the newest."""

    kind: Literal["asynchronous"] = "asynchronous"

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> Collecting[Any]:
        return Collecting(len(members), len(members))
