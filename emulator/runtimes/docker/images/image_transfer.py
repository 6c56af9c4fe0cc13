"""Sends an image from one engine to others, as one stream from `save` to each `load`.

No file holds the image, and no engine asks a registry. The sending engine packs the image once,
however many engines load it.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Full, Queue
from typing import Any

from docker import DockerClient
from docker.errors import ImageNotFound

from ....errors import DeploymentError
from ..engine.client import refusals

_AHEAD = 4
"""Pieces of 2 MB that wait for an engine: the slowest engine sets the pace of all."""
_LOOK = 0.2
"""Seconds between two looks at whether an engine still takes pieces."""


class _Branch:
    """The pieces that one engine has yet to load. One thread puts them, another takes them."""

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
    targets: Sequence[DockerClient],
    name: str,
    tell: Callable[[int], None] = lambda sent: None,
) -> int:
    """Send the image `name` of `source` to each of the `targets` that lacks it; return how many
    did.

    `tell` is called with the number of bytes that each of them was sent so far. Raises
    DeploymentError if `source` lacks the image, or if an engine refuses it.
    """
    with refusals(f"sending the image {name}"):
        layers = _layers(source, name)
        if layers is None:
            raise DeploymentError(f"the engine to send from has no image {name}")
        lacking = [target for target in targets if _layers(target, name) != layers]
        if lacking:
            _stream(source, lacking, name, tell)
    return len(lacking)


def _layers(client: DockerClient, name: str) -> list[str] | None:
    """Return the digests of the layers of the image `name`; None if the engine lacks the image.

    Ids of images cannot be compared: engines that keep images in containerd have other ids.
    """
    try:
        layers: list[str] = client.images.get(name).attrs["RootFS"]["Layers"]
    except ImageNotFound:
        return None
    return layers


def _stream(
    source: DockerClient, targets: Sequence[DockerClient], name: str, tell: Callable[[int], None]
) -> None:
    """Load the image `name` of `source` into all `targets` at once."""
    branches = [_Branch() for _ in targets]
    with ThreadPoolExecutor(len(targets)) as pool:
        loads = [pool.submit(_load, *each) for each in zip(targets, branches, strict=True)]
        sent = 0
        try:
            for piece in source.api.get_image(name):
                for branch in branches:
                    branch.put(piece)
                tell(sent := sent + len(piece))
        except BaseException as error:
            for branch in branches:
                branch.put(error)
            raise
        for branch in branches:
            branch.put(None)
    for load in loads:
        load.result()


def _load(target: DockerClient, branch: _Branch) -> None:
    """Load the pieces of `branch` into `target`."""
    api: Any = target.api  # whose types know no iterator of pieces
    try:
        for answer in api.load_image(branch.pieces()):
            if "error" in answer:
                raise DeploymentError(f"an engine cannot load the image: {answer['error']}")
    finally:
        branch.close()
