"""Nobody waits: every gradient is a step of its own, in the order of arrival."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .softsync import Collecting


@dataclass(frozen=True)
class Asynchronous:
    """A worker's next model is the newest, whatever the others do: `softsync` with a step each."""

    kind: Literal["asynchronous"] = "asynchronous"

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> Collecting[Any]:
        return Collecting(1)
