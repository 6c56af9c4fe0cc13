"""Builds images from named files alone, so that no other file of a folder can change an image."""

import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from docker import DockerClient
from docker.models.images import Image

from ....errors import DeploymentError, HostError

Context: TypeAlias = Mapping[str, bytes | Path]
"""The contents of each path in the build context, or the file that holds the contents."""

_PIECE = 1 << 20


def build(
    client: DockerClient,
    tag: str,
    context: Context,
    *,
    base: str,
    labels: dict[str, str] | None = None,
) -> Image:
    """Build an image from `context` and name the image `tag`.

    The Dockerfile in `context` takes `base` as the argument BASE. The engine's layer cache
    applies. Raises a DeploymentError that ends with the output of the failing step.
    """
    output = client.api.build(
        fileobj=cast(IO[bytes], packed(context)),  # requests sends any iterator, in chunks
        custom_context=True,
        tag=tag,
        buildargs={"BASE": base},
        labels=labels,
        rm=True,
        forcerm=True,
        decode=True,
    )
    _follow(tag, output)
    return client.images.get(tag)


def packed(context: Context) -> Iterator[bytes]:
    """Yield `context` as a tar archive, a piece at a time; equal contents give equal bytes.

    The archive of TensorFlow's libraries has 850 MB; no file and no memory holds all of an
    archive. Raises a HostError if a file cannot be read, or shrinks meanwhile.
    """
    for name, content in sorted(context.items()):
        entry = tarfile.TarInfo(name)  # mode 0644, owner root, no date: the same everywhere
        try:
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
                entry.size = file.seek(0, io.SEEK_END)
                file.seek(0)
                yield entry.tobuf()
                yield from _whole(file, entry.size)
        except OSError as error:
            raise HostError(f"{name}: cannot be packed for the image: {error}") from error
        yield bytes(-entry.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _whole(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield the first `size` bytes of `file`, a megabyte at a time."""
    while size:
        piece = file.read(min(size, _PIECE))
        if not piece:
            raise OSError(f"{size} bytes are missing at its end")
        size -= len(piece)
        yield piece


def _follow(tag: str, output: Iterable[dict[str, Any]]) -> None:
    """Read the engine's `output` to its end; raise a DeploymentError if the build failed."""
    lines: list[str] = []
    for item in output:
        lines += str(item.get("stream", "")).splitlines()
        if "error" in item:
            tail = "\n".join(line for line in lines[-15:] if line.strip())
            raise DeploymentError(f"{tag}: the build failed: {item['error']}\n{tail}")
