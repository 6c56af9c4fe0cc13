"""An image travels once, as one stream, to exactly the engines that lack it."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, ImageNotFound

from emulator.errors import DeploymentError
from emulator.runtimes.docker.images.image_transfer import send
from tests.runtimes.docker.engine.engine_answers import unlike

NAME = "emulate/node:0123"
PIECES = [bytes([number]) * 100 for number in range(40)]
"""More pieces than wait for a slow engine."""


class Engine:
    """Has images by their names, each of which is a layer; keeps what it loads."""

    def __init__(self, *images: str, machine: str = "amd64", fails: str = "") -> None:
        self.kept, self.machine, self.fails = {*images}, machine, fails
        self.loaded: list[bytes] = []
        self.saved = 0
        self.images = self.api = self

    def get(self, name: str) -> Any:
        if name not in self.kept:
            raise ImageNotFound(name)
        layers = {"Architecture": self.machine, "RootFS": {"Layers": [name]}}
        return SimpleNamespace(attrs=layers)

    def version(self) -> dict[str, str]:
        return {"Version": "20.10.24", "ApiVersion": "1.41", "Arch": self.machine}

    def get_image(self, name: str) -> Iterator[bytes]:
        self.saved += 1
        yield from PIECES
        if self.fails:
            raise APIError(self.fails)

    def load_image(self, data: Iterator[bytes]) -> Iterator[dict[str, str]]:
        for piece in data:
            self.loaded.append(piece)
            yield {"stream": "loading"}
            if self.fails:
                yield {"error": self.fails}


def test_the_fake_answers_as_an_engine() -> None:
    assert unlike(Engine(NAME), "version", "layers", name=NAME) == []


def test_each_engine_that_lacks_the_image_gets_it_by_one_stream() -> None:
    source, has = Engine(NAME), Engine(NAME)
    lack = {"b": Engine(), "c": Engine()}
    sizes: list[int] = []
    targets: Any = {"a": has, **lack}
    assert send(source, targets, NAME, sizes.append) == ["b", "c"]  # type: ignore[arg-type]
    assert all(engine.loaded == PIECES for engine in lack.values())
    assert has.loaded == [] and source.saved == 1
    assert sizes == [100 * number for number in range(1, 41)]


def test_nothing_is_packed_for_engines_that_have_the_image() -> None:
    source, target = Engine(NAME), Engine(NAME)
    assert send(source, {"a": target}, NAME) == []  # type: ignore[arg-type, dict-item]
    assert source.saved == 0


@pytest.mark.parametrize(
    ("source", "target", "words", "others"),
    [
        (Engine(), Engine(), "the engine to send from has no image emulate/node:0123", []),
        (
            Engine(NAME),
            Engine(machine="arm64"),
            "^a: its machine is arm64, and the image is for a",
            [],
        ),
        (
            Engine(NAME),
            Engine(fails="no space left"),
            "^a cannot load the image: no space left",
            PIECES,
        ),
        (
            Engine(NAME, fails="it is gone"),
            Engine(),
            "Docker refused: it is gone",
            PIECES,
        ),
    ],
)
def test_what_ends_it(source: Any, target: Any, words: str, others: list[bytes]) -> None:
    """Neither end waits for the other for ever, and the other engines get what they can."""
    other: Any = Engine()
    with pytest.raises(DeploymentError, match=words):
        send(source, {"b": other, "a": target}, NAME)
    assert other.loaded == others
