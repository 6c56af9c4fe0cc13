"""The image below the node image: wheels for Python 3.11 and TensorFlow's C library, built once.

The C library is copied from the TensorFlow that is installed beside this package, so a device
computes with the library that exported the graph. The wheels are downloaded on the host, so the
build needs no network.
"""

import contextlib
import os
import platform
import subprocess
import sys
import zipfile
from hashlib import sha256
from importlib.metadata import Distribution
from pathlib import Path

from docker import DockerClient
from docker.errors import ImageNotFound

from ....errors import HostError
from ....machine.cache import scratch
from ....machine.installed import remedy, tensorflow
from .build import Context, build

NAME = "emulate/libraries"
BASE = "emulate/base:bookworm"

_DOCKERFILE, _REQUIREMENTS = "libraries.Dockerfile", "requirements.txt"
_SHARED_OBJECTS = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
# pip wants every generation of glibc by name; bookworm's 2.36 runs them all.
_GLIBCS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux2014")


def tag(recipe: Path) -> str:
    """Return the name of the image made from the folder `recipe` and the installed TensorFlow."""
    package, distribution = _tensorflow()
    version = distribution.version
    sources = [package, version, platform.machine()]
    sources += [
        (recipe / name).read_text(encoding="utf-8") for name in (_DOCKERFILE, _REQUIREMENTS)
    ]
    mark = sha256("\0".join(sources).encode()).hexdigest()[:12]
    return f"{NAME}:{version}-{mark}"


def provide(client: DockerClient, recipe: Path) -> str:
    """Build the image `tag(recipe)` unless the engine has it already; return the image's name."""
    name = tag(recipe)
    try:
        client.images.get(name)
    except ImageNotFound:
        _provide_base(client, recipe.parent / "base")
        print(f"images: building {name} (once for each version of TensorFlow)", flush=True)
        with scratch() as wheels:
            _download(recipe / _REQUIREMENTS, wheels)
            build(client, name, _context(recipe, wheels), base=BASE)
    return name


def _provide_base(client: DockerClient, script: Path) -> None:
    """Run `script`, which makes the image `BASE`, unless the engine has it already.

    The script shows its steps.
    """
    with contextlib.suppress(ImageNotFound):
        client.images.get(BASE)
        return
    done = subprocess.run(["bash", str(script)], stdin=subprocess.DEVNULL)
    if done.returncode:
        raise HostError(f"the engine has no image {BASE}, and {script} could not make it")


def _tensorflow() -> tuple[str, Distribution]:
    """Return the installed TensorFlow's package name and distribution; raise HostError if none."""
    if installed := tensorflow():
        return installed
    raise HostError(f"TensorFlow is not installed beside the emulator: {remedy()}")


def _download(requirements: Path, into: Path) -> None:
    """Download the wheels of `requirements` for the image's Python and glibc into a folder."""
    platforms = [f"--platform={glibc}_{platform.machine()}" for glibc in _GLIBCS]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation=cp", "--python-version=3.11"]
    command += [*platforms, "--dest", str(into), "--requirement", str(requirements)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(into)},
    )
    if done.returncode:
        raise HostError(f"cannot fetch the wheels of {requirements}:\n{done.stderr.strip()}")


def _context(recipe: Path, wheels: Path) -> Context:
    """Return the build context: the Dockerfile, TensorFlow's libraries, the unpacked wheels."""
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
