"""An engine that only says how containers ended."""

from types import SimpleNamespace
from typing import Any


class Events(list[Any]):
    def close(self) -> None: ...


def event(action: str, **facts: str) -> dict[str, Any]:
    return {"Action": action, "Actor": {"Attributes": facts}}


def engine(*events: dict[str, Any]) -> Any:
    return SimpleNamespace(api=SimpleNamespace(events=lambda **about: Events(events)))
