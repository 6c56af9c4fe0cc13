"""Sends an image from one engine to others, as one stream from `save` to each `load`.

No file holds the image, and no engine asks a registry. The sending engine packs the image once,
however many engines load it.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Full, Queue
from typing import Any

from docker import DockerClient
from docker.errors import ImageNotFound

from ....errors import DeploymentError
from ..engine.client import refusals
from ..engine.engine_traits import other_machine

_AHEAD = 4
"""Pieces of 2 MB that wait for an engine: the slowest engine sets the pace of all."""
_LOOK = 0.2
"""Seconds between two looks at whether an engine still takes pieces."""


class _Branch:
    """The pieces that one engine has yet to load: a queue between two threads."""

    def __init__(self) -> None:
        self._queue: Queue[bytes | BaseException | None] = Queue(_AHEAD)
        self._over = False

    def put(self, piece: bytes | BaseException | None) -> None:
        """Queue `piece`, unless the engine takes no more. None ends the image, an error breaks it
        off."""
        while not self._over:
            with suppress(Full):
                self._queue.put(piece, timeout=_LOOK)
                return

    def pieces(self) -> Iterator[bytes]:
        """Yield the pieces until the end of the image. Raises the error that breaks it off."""
        while (piece := self._queue.get()) is not None:
            if isinstance(piece, BaseException):
                raise DeploymentError("the image was broken off") from piece
            yield piece

    def close(self) -> None:
        """Take no more pieces."""
        self._over = True


def send(
    source: DockerClient,
    targets: Mapping[str, DockerClient],
    name: str,
    tell: Callable[[int], None] = lambda sent: None,
) -> list[str]:
    """Send the image `name` of `source` to each of the `targets` that lacks it; return their names.

    `targets` has a client of each engine by the engine's name in messages. `tell` is called with
    the number of bytes that each engine was sent so far. Raises DeploymentError if `source` lacks
    the image, or if an engine cannot run it or refuses it.
    """
    with refusals(f"sending the image {name}"):
        image = _inspected(source, name)
        if image is None:
            raise DeploymentError(f"the engine to send from has no image {name}")
        for target, client in targets.items():
            if why := other_machine(image, client.version()):
                raise DeploymentError(f"{target}: {why}")
        lacking = {target: c for target, c in targets.items() if not _has(c, name, image)}
        if lacking:
            _stream(source, lacking, name, tell)
    return [*lacking]


def _has(client: DockerClient, name: str, image: Mapping[str, Any]) -> bool:
    """Return whether the engine has the `image` by its `name`.

    Ids of images cannot be compared: engines that keep images in containerd have other ids.
    """
    found = _inspected(client, name)
    return found is not None and found["RootFS"] == image["RootFS"]


def _inspected(client: DockerClient, name: str) -> Mapping[str, Any] | None:
    """Return what the engine says of the image `name`; None if the engine lacks the image."""
    try:
        return client.images.get(name).attrs
    except ImageNotFound:
        return None


def _stream(
    source: DockerClient,
    targets: Mapping[str, DockerClient],
    name: str,
    tell: Callable[[int], None],
) -> None:
    """Load the image `name` of `source` into all `targets` at once."""
    branches = {target: _Branch() for target in targets}
    with ThreadPoolExecutor(len(targets)) as pool:
        loads = [pool.submit(_load, *each, branches[each[0]]) for each in targets.items()]
        sent = 0
        try:
            for piece in source.api.get_image(name):
                for branch in branches.values():
                    branch.put(piece)
                tell(sent := sent + len(piece))
        except BaseException as error:
            for branch in branches.values():
                branch.put(error)
            raise
        for branch in branches.values():
            branch.put(None)
    for load in loads:
        load.result()


def _load(target: str, client: DockerClient, branch: _Branch) -> None:
    """Load the pieces of `branch` into the engine `target`."""
    api: Any = client.api  # whose types know no iterator of pieces
    try:
        for answer in api.load_image(branch.pieces()):
            if "error" in answer:
                raise DeploymentError(f"{target} cannot load the image: {answer['error']}")
    finally:
        branch.close()
