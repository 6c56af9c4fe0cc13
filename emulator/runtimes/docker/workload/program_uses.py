"""The processor time of a workload's programs, which the engine counts."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import requests
from docker.errors import DockerException

from ....world.emulated_clock import UNDILATED
from ..engine.hosts import Hosts
from .program_lives import ProgramLives, beside

EVERY = 1.0
"""Seconds between two questions about a program."""
CALLS = 4
"""Questions at once."""


class Use(NamedTuple):
    """The processor time of a program since its start."""

    node: str
    life: int
    now: float
    """Reading of the host's monotonic clock."""
    seconds: float
    throttled: float
    """Seconds for which the program has waited at its quota."""


class ProgramUses:
    """Asks the engine again and again how much processor time programs have used."""

    def __init__(self, hosts: Hosts, lives: ProgramLives) -> None:
        self._hosts, self._lives = hosts, lives
        self._pool = ThreadPoolExecutor(CALLS)
        self._asked: dict[str, tuple[int, Future[Use | None]]] = {}
        self._due: dict[str, float] = {}

    def tick(self, nodes: Iterable[str]) -> Iterator[Use]:
        """Yield the answers that have come, and ask about each of `nodes` that is due."""
        for node, (life, answer) in list(self._asked.items()):
            if answer.done():
                del self._asked[node]
                use = answer.result()
                if use is not None and life == self._lives.life(node):
                    yield use
        now = UNDILATED.now()
        for node in nodes:
            if node not in self._asked and now >= self._due.get(node, 0.0):
                self._due[node] = now + EVERY
                life = self._lives.life(node)
                self._asked[node] = life, self._pool.submit(self._ask, node, life)

    def close(self) -> None:
        """Wait for the questions under way, and ask no other."""
        self._pool.shutdown(cancel_futures=True)

    def _ask(self, node: str, life: int) -> Use | None:
        """Return the use of `node`; None if its container does not run, or the engine is too old
        to tell at once."""
        api: Any = self._hosts.of(beside(node)).client.api
        try:
            told = api.stats(self._lives.container(node), stream=False, one_shot=True)
            use = told["cpu_stats"]
            seconds = use["cpu_usage"]["total_usage"] / 1e9
            throttled = use.get("throttling_data", {}).get("throttled_time", 0) / 1e9
        except (DockerException, requests.RequestException, KeyError, TypeError):
            return None
        return Use(node, life, UNDILATED.now(), seconds, throttled)
