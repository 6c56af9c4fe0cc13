"""Builds images from named files alone, so that no other file of a folder can change an image."""

import io
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

from docker import DockerClient
from docker.models.images import Image

from ....errors import DeploymentError, HostError

Context: TypeAlias = Mapping[str, bytes | Path]
"""The contents of each path in the build context, or the file that holds the contents."""


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
    with tempfile.TemporaryFile() as archive:
        try:
            _pack(context, archive)
        except OSError as error:
            raise HostError(
                f"{tag}: cannot write the build context to {tempfile.gettempdir()}: "
                f"{error.strerror}: up to 1 GB is needed: name another folder in TMPDIR"
            ) from error
        archive.seek(0)
        output = client.api.build(
            fileobj=archive,
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


def _pack(context: Context, archive: IO[bytes]) -> None:
    """Write `context` to `archive` as tar; equal contents give equal bytes."""
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in sorted(context.items()):
            entry = tarfile.TarInfo(name)  # mode 0644, owner root, no date: the same everywhere
            if isinstance(content, bytes):
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
            else:
                entry.size = content.stat().st_size
                with content.open("rb") as file:
                    tar.addfile(entry, file)


def _follow(tag: str, output: Iterable[dict[str, Any]]) -> None:
    """Read the engine's `output` to its end; raise a DeploymentError if the build failed."""
    lines: list[str] = []
    for item in output:
        lines += str(item.get("stream", "")).splitlines()
        if "error" in item:
            tail = "\n".join(line for line in lines[-15:] if line.strip())
            raise DeploymentError(f"{tag}: the build failed: {item['error']}\n{tail}")
