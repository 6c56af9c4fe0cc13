"""The node image: what every role runs from, and whether the engine's copy is made of this code."""

import contextlib
import sys
import time
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import docker
from docker import DockerClient
from docker.errors import APIError, DockerException, ImageNotFound

from ...errors import EmulatorError, HostError
from . import libraries
from .build import build

NAME = "emulate/node"

_PACKAGE = Path(__file__).parents[2]
_SOURCE, _VERSION, _LIBRARIES = "emulate.source", "emulate.version", "emulate.libraries"


@dataclass(frozen=True)
class NodeImage:
    """The image as the engine has it; run `id`, which a later build cannot change under a run."""

    id: str
    labels: dict[str, str]


def digest(package: Path) -> str:
    """SHA-256 of what the top layers are made of: the package's modules and the Dockerfile.

    Hexadecimal; paths count, dates and compiled files do not.
    """
    total = sha256()
    for name, file in sorted(_context(package).items()):
        content = file.read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def require(client: DockerClient, package: Path = _PACKAGE) -> NodeImage:
    """The engine's node image; a HostError if it has none or one that was made of other code.

    A package installed away from its Dockerfile is held to its version only.
    """
    image = _find(client)
    if image is None:
        raise HostError(f"the engine has no image {NAME}: run `make images`")
    for label, expected in _labels(package).items():
        if image.labels.get(label) != expected:
            raise HostError(
                f"the image {NAME} was made of other code than this, run `make images`: its "
                f"{label} is {image.labels.get(label, 'missing')[:12]}, expected {expected[:12]}"
            )
    return image


def provide(client: DockerClient, package: Path = _PACKAGE) -> bool:
    """Build whatever the node image lacks, and say whether that was anything."""
    if not _recipe(package).is_dir():
        raise HostError(f"images are built from a checkout, and {package.parent} is none")
    previous = _find(client)
    labels = _labels(package)
    if previous and previous.labels.items() >= labels.items():
        return False
    build(
        client,
        NAME,
        _context(package),
        base=libraries.provide(client, _recipe(package)),
        labels=labels,
    )
    if previous:
        # Other runs may still use it: then it stays, nameless, until the engine is pruned.
        with contextlib.suppress(APIError):
            client.images.remove(previous.id)
    return True


def _find(client: DockerClient) -> NodeImage | None:
    try:
        image = client.images.get(NAME)
    except ImageNotFound:
        return None
    return NodeImage(str(image.id), image.labels)


def _recipe(package: Path) -> Path:
    return package.parent / "images" / "node"


def _labels(package: Path) -> dict[str, str]:
    labels = {_VERSION: version("edge-emulate")}
    if _recipe(package).is_dir():
        labels |= {_LIBRARIES: libraries.tag(_recipe(package)), _SOURCE: digest(package)}
    return labels


def _context(package: Path) -> dict[str, Path]:
    modules = {f"emulator/{file.relative_to(package)}": file for file in package.rglob("*.py")}
    return modules | {"Dockerfile": _recipe(package) / "Dockerfile"}


def main() -> None:
    started = time.monotonic()
    try:
        client = docker.from_env()
        done = "built" if provide(client) else "up to date"
    except DockerException as error:
        sys.exit(f"images: the Docker engine does not answer as expected: {error}")
    except EmulatorError as error:
        sys.exit(f"images: {error}")
    print(f"images: {NAME} {done} ({time.monotonic() - started:.1f} s)")


if __name__ == "__main__":
    main()
