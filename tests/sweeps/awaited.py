"""Conditions that come true in another process."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return result


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
