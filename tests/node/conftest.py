"""Supervisors that end with their test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.node.config import Network
from tests.fakes.node.supervised import NETWORK, SLEEPS, WORKER, Container, Make


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Container] = []

    def container(
        part: str = SLEEPS, role: Any = WORKER, network: Network = NETWORK, *, forked: bool = False
    ) -> Container:
        made.append(Container(tmp_path, part, role, network, forked=forked))
        return made[-1]

    yield container
    for item in made:
        item.close()
