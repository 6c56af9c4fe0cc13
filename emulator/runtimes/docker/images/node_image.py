"""The node image, which holds the code of all roles and is named by a digest of that code.

Two packages with other code that share an engine have an image each: checkouts, and packages that
pip has installed, which carry the recipes of the images. `emulate/node` without a tag is the image
that was built last, for Compose.
"""

import contextlib
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from docker import DockerClient
from docker.errors import APIError, ImageNotFound

from ....errors import HostError
from . import libraries
from .build import build

NAME = "emulate/node"

_PACKAGE = Path(__file__).parents[3]
_SOURCE, _VERSION, _LIBRARIES = "emulate.source", "emulate.version", "emulate.libraries"
_CHECKOUT = "emulate.checkout"
_BESIDE = frozenset({"analysis", "own", "templates"})
"""Folders that a wheel carries within the package and a checkout has beside it: no container needs
them."""
_MARK = 12
"""Hexadecimal digits of the digest in an image's tag."""


@dataclass(frozen=True)
class NodeImage:
    """A node image in the engine."""

    id: str
    """The image's id. Containers are created from it, as a later build can move the name."""
    labels: dict[str, str]


def digest(package: Path) -> str:
    """Return the SHA-256 of the package's modules and the Dockerfile, in hexadecimal.

    Paths count; dates and compiled files do not.
    """
    total = sha256()
    for name, file in sorted(_context(package).items()):
        content = file.read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def name(package: Path = _PACKAGE) -> str:
    """Return the image's name, tagged by a digest of all that the image is made of."""
    made_of = "\0".join(f"{label}={value}" for label, value in sorted(_labels(package).items()))
    return f"{NAME}:{sha256(made_of.encode()).hexdigest()[:_MARK]}"


def require(client: DockerClient, package: Path = _PACKAGE) -> NodeImage:
    """Return the engine's node image for `package`.

    Raises HostError if the engine has no such image, or if the labels of the image name other
    code.
    """
    wanted = name(package)
    image = _find(client, wanted)
    if image is None:
        raise HostError(f"the engine has no image {wanted} of this code: run `emulate images`")
    for label, expected in _labels(package).items():
        if image.labels.get(label) != expected:
            raise HostError(
                f"the image {wanted} was made of other code than this, run `emulate images`: its "
                f"{label} is {image.labels.get(label, 'missing')[:12]}, expected {expected[:12]}"
            )
    return image


def provide(client: DockerClient, package: Path = _PACKAGE) -> bool:
    """Build the node image of `package` if it is missing; return whether it was."""
    wanted, labels, checkout = name(package), _labels(package), {_CHECKOUT: str(package.parent)}
    image = _find(client, wanted)
    missing = image is None or not image.labels.items() >= labels.items()
    if missing:
        base = libraries.provide(client, _recipe(package))
        build(client, wanted, _context(package), base=base, labels=labels | checkout)
        _forget_older(client, wanted, checkout)
    client.api.tag(wanted, NAME)
    return missing


def _forget_older(client: DockerClient, wanted: str, checkout: dict[str, str]) -> None:
    """Remove the tags of images from earlier states of the same checkout."""
    labels = [f"{label}={value}" for label, value in checkout.items()]
    for image in client.images.list(filters={"label": labels}):
        for tag in image.tags:
            if tag.startswith(f"{NAME}:") and tag != wanted:
                # A run that still uses the image keeps it, until the engine is pruned.
                with contextlib.suppress(APIError):
                    client.images.remove(tag)


def _find(client: DockerClient, wanted: str) -> NodeImage | None:
    try:
        image = client.images.get(wanted)
    except ImageNotFound:
        return None
    return NodeImage(str(image.id), image.labels)


def _recipe(package: Path) -> Path:
    """Return the folder with the recipe of the image: of the checkout, or within the package."""
    places = (package.parent / "images" / "node", package / "runtimes/docker/images/recipes/node")
    for place in places:
        if place.is_dir():
            return place
    raise HostError(f"{package} lacks the recipes of its images, in {places[1]}: install it again")


def _labels(package: Path) -> dict[str, str]:
    """Return the labels that identify the code of `package` on its image."""
    made_of = {_LIBRARIES: libraries.tag(_recipe(package)), _SOURCE: digest(package)}
    return {_VERSION: version("edge-emulate"), **made_of}


def _context(package: Path) -> dict[str, Path]:
    files = (file.relative_to(package) for file in package.rglob("*.py"))
    needed = (file for file in files if file.parts[0] not in _BESIDE)
    modules = {f"emulator/{file}": package / file for file in needed}
    return modules | {"Dockerfile": _recipe(package) / "Dockerfile"}
