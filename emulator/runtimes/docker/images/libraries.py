"""The image under the node image: Python 3.11's wheels and TensorFlow's C library, built once.

TensorFlow comes out of the wheel that is installed beside this package, so a device computes with
the very library that exported its graph. The other wheels are fetched on the host, so that the
build itself needs no network.
"""

import platform
import subprocess
import sys
import tempfile
import zipfile
from hashlib import sha256
from importlib.metadata import Distribution
from pathlib import Path

from docker import DockerClient
from docker.errors import ImageNotFound

from ....errors import HostError
from ....machine.installed import remedy, tensorflow
from .build import Context, build

NAME = "emulate/libraries"
BASE = "emulate/base:bookworm"

_DOCKERFILE, _REQUIREMENTS = "libraries.Dockerfile", "requirements.txt"
_SHARED_OBJECTS = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
# pip wants every generation of glibc by name; bookworm's 2.36 runs them all.
_GLIBCS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux2014")


def tag(recipe: Path) -> str:
    """Name the image that the folder `recipe` and the installed TensorFlow make."""
    package, found = _tensorflow()
    version = found.version
    sources = [package, version, platform.machine()]
    sources += [(recipe / name).read_text() for name in (_DOCKERFILE, _REQUIREMENTS)]
    mark = sha256("\0".join(sources).encode()).hexdigest()[:12]
    return f"{NAME}:{version}-{mark}"


def provide(client: DockerClient, recipe: Path) -> str:
    """Build the image of `tag(recipe)` unless the engine has it; its name either way."""
    name = tag(recipe)
    try:
        client.images.get(name)
    except ImageNotFound:
        _require_base(client)
        print(f"images: building {name} (once for each version of TensorFlow)", flush=True)
        with tempfile.TemporaryDirectory() as wheels:
            _download(recipe / _REQUIREMENTS, Path(wheels))
            build(client, name, _context(recipe, Path(wheels)), base=BASE)
    return name


def _require_base(client: DockerClient) -> None:
    try:
        client.images.get(BASE)
    except ImageNotFound as error:
        raise HostError(f"the engine has no image {BASE}: `make images` builds it first") from error


def _tensorflow() -> tuple[str, Distribution]:
    if found := tensorflow():
        return found
    raise HostError(f"TensorFlow is not installed beside the emulator: {remedy()}")


def _download(requirements: Path, into: Path) -> None:
    platforms = [f"--platform={glibc}_{platform.machine()}" for glibc in _GLIBCS]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11"]
    command += [*platforms, "--dest", str(into), "--requirement", str(requirements)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise HostError(f"cannot fetch the wheels of {requirements}:\n{done.stderr.strip()}")


def _context(recipe: Path, wheels: Path) -> Context:
    package = Path(str(_tensorflow()[1].locate_file("tensorflow")))
    context: dict[str, bytes | Path] = {"Dockerfile": recipe / _DOCKERFILE}
    context |= {f"tensorflow/{name}": package / name for name in _SHARED_OBJECTS}
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as members:
            context |= {
                f"packages/{name}": members.read(name)
                for name in members.namelist()
                if not name.endswith("/") and "/tests/" not in name
            }
    return context
