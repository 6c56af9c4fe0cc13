"""Has the engine make an image of exactly the files named, so that nothing else can change it."""

import io
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias

from docker import DockerClient
from docker.models.images import Image

from ....errors import DeploymentError

Context: TypeAlias = Mapping[str, bytes | Path]
"""Path in the build context -> its contents, or the file that holds them."""


def build(
    client: DockerClient,
    tag: str,
    context: Context,
    *,
    base: str,
    labels: dict[str, str] | None = None,
) -> Image:
    """Build `context`, which holds a Dockerfile that takes BASE, and name the result `tag`.

    The engine's own layer cache applies. A DeploymentError ends with what the failing step said.
    """
    with tempfile.TemporaryFile() as archive:
        _pack(context, archive)
        archive.seek(0)
        said = client.api.build(
            fileobj=archive,
            custom_context=True,
            tag=tag,
            buildargs={"BASE": base},
            labels=labels,
            rm=True,
            forcerm=True,
            decode=True,
        )
        _follow(tag, said)
    return client.images.get(tag)


def _pack(context: Context, archive: IO[bytes]) -> None:
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


def _follow(tag: str, said: Iterable[dict[str, Any]]) -> None:
    lines: list[str] = []
    for item in said:
        lines += str(item.get("stream", "")).splitlines()
        if "error" in item:
            tail = "\n".join(line for line in lines[-15:] if line.strip())
            raise DeploymentError(f"{tag}: the build failed: {item['error']}\n{tail}")
