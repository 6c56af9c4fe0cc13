"""The image is rebuilt when, and only when, what it is made of has changed."""

import errno
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import tracemalloc
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from docker.errors import ImageNotFound

from emulator.errors import DeploymentError, HostError
from emulator.runtimes.docker.engine.client import connect
from emulator.runtimes.docker.images import libraries, node_image
from emulator.runtimes.docker.images.build import build, packed
from tests.layers import ROOT
from tests.runtimes.docker.engine.engine_answers import unlike

TENSORFLOW = libraries._tensorflow()[1]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A checkout in small."""
    files = {
        "emulator/__init__.py": "",
        "emulator/core/server/parameter_server.py": "theta = 0\n",
        "images/node/Dockerfile": "ARG BASE\nFROM ${BASE}\n",
        "images/node/libraries.Dockerfile": "ARG BASE\nFROM ${BASE}\n",
        "images/node/requirements.txt": "numpy==2.0.0\n",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "emulator"


class Engine:
    """Answers as the Docker client does, for the images that it has; keeps what it was sent."""

    def __init__(self, images: dict[str, dict[str, str]] | None = None, said: Any = ()) -> None:
        self.found = {
            name: SimpleNamespace(id=f"sha256:{number}", labels=labels, tags=[name])
            for number, (name, labels) in enumerate((images or {}).items())
        }
        self.said = said
        self.images = self.api = self

    def get(self, name: str) -> Any:
        if name not in self.found:
            raise ImageNotFound(name)
        return self.found[name]

    def build(self, **asked: Any) -> Any:
        self.asked = asked
        with tarfile.open(fileobj=io.BytesIO(b"".join(asked["fileobj"]))) as sent:
            self.sent = {entry.name: entry for entry in sent}
        name, number = asked["tag"], len(self.found)
        self.found[name] = SimpleNamespace(
            id=f"sha256:{number}", labels=asked["labels"], tags=[name]
        )
        return iter(self.said)

    def tag(self, name: str, other: str) -> None:
        self.found[other] = self.found[name]

    def list(self, filters: dict[str, list[str]]) -> Any:
        wanted = dict(label.split("=", 1) for label in filters["label"])
        images = {image.id: image for image in self.found.values()}
        return [result for result in images.values() if result.labels.items() >= wanted.items()]

    def remove(self, name: str) -> None:
        del self.found[name]


def test_the_engine_of_images_answers_as_the_engine_does() -> None:
    """Of the labels that a list is filtered by, the fake asks for their values too."""
    engine = Engine({"emulate/node": {"emulate.code": "1"}})
    assert unlike(engine, "image", name="emulate/node") == []


class Counting(Engine):
    """An engine that reads the context and keeps none of it."""

    def build(self, **asked: Any) -> Any:
        assert sum(map(len, asked["fileobj"])) > 64 << 20
        return super().build(**asked | {"fileobj": packed({})})


# -- whose code is in it


def _edit(package: Path) -> None:
    (package / "core/server/parameter_server.py").write_text("theta = 1\n")


def _add(package: Path) -> None:
    (package / "core/worker.py").write_text("")


def _rename(package: Path) -> None:
    (package / "core/server/parameter_server.py").rename(package / "core/server/service.py")


def _shift(package: Path) -> None:
    """All the bytes in the same order, but in other files."""
    (package / "__init__.py").write_text("theta = 0\n")
    (package / "core/server/parameter_server.py").write_text("")


def _rebase(package: Path) -> None:
    (package.parent / "images/node/Dockerfile").write_text("ARG BASE\nFROM scratch\n")


@pytest.mark.parametrize("change", [_edit, _add, _rename, _shift, _rebase])
def test_digest_sees_every_change(package: Path, change: Any) -> None:
    before = node_image.digest(package)
    change(package)
    assert node_image.digest(package) != before


def test_digest_ignores_dates_and_what_python_leaves_behind(package: Path) -> None:
    before = node_image.digest(package)
    os.utime(package / "core/server/parameter_server.py", (0, 0))
    (package / "core/__pycache__").mkdir()
    (package / "core/__pycache__/server.cpython-311.pyc").write_bytes(b"\0")
    assert node_image.digest(package) == before


@pytest.mark.parametrize("name", ["libraries.Dockerfile", "requirements.txt"])
def test_libraries_are_named_after_what_they_are_made_of(package: Path, name: str) -> None:
    recipe = package.parent / "images/node"
    before = libraries.tag(recipe)
    (recipe / name).write_text("other")
    assert libraries.tag(recipe) != before
    assert f":{TENSORFLOW.version}-" in before


def test_libraries_are_of_the_platforms_tensorflow(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On ARM: another package, which `importlib` finds, other wheels, and another image."""
    recipe, fetched = package.parent / "images/node", tmp_path / "fetched"
    ours = libraries.tag(recipe)
    about = tmp_path / "site" / f"tensorflow-{TENSORFLOW.version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Name: tensorflow\nVersion: {TENSORFLOW.version}\n")
    monkeypatch.setattr(libraries.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(libraries.subprocess, "run", lambda command, **_: _said(fetched, command))
    with monkeypatch.context() as there:
        there.setattr(sys, "path", [str(tmp_path / "site")])
        theirs = libraries.tag(recipe)
    assert theirs != ours
    libraries._download(recipe / "requirements.txt", tmp_path)
    assert "--platform=manylinux_2_28_aarch64" in fetched.read_text().split("\n")


def _said(into: Path, command: list[str]) -> "subprocess.CompletedProcess[str]":
    into.write_text("\n".join(command))
    return subprocess.CompletedProcess(command, 0, "", "")


# -- an engine with the right image, the wrong one, none


def _labels(package: Path) -> dict[str, str]:
    return {
        "emulate.version": version("edge-emulate"),
        "emulate.source": node_image.digest(package),
        "emulate.libraries": libraries.tag(package.parent / "images/node"),
    }


def test_require_takes_the_image_of_this_code(package: Path) -> None:
    engine = Engine({node_image.name(package): _labels(package)})
    assert node_image.require(engine, package).id == "sha256:0"


@pytest.mark.parametrize("label", ["emulate.version", "emulate.source", "emulate.libraries"])
def test_require_refuses_an_image_of_other_code(package: Path, label: str) -> None:
    for labels in (_labels(package) | {label: "other"}, {}):
        with pytest.raises(HostError, match=r"run `emulate images`"):
            node_image.require(Engine({node_image.name(package): labels}), package)


def test_require_refuses_an_engine_without_it(package: Path) -> None:
    with pytest.raises(HostError, match=r"no image emulate/node:\w+ .*run `emulate images`"):
        node_image.require(Engine(), package)


def test_an_installed_package_has_the_image_of_the_same_checkout(
    package: Path, tmp_path: Path
) -> None:
    installed = Path(shutil.copytree(package, tmp_path / "site" / "emulator"))
    with pytest.raises(HostError, match=r"lacks the recipes of its images, in .*: install"):
        node_image.name(installed)
    carried = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    place = carried["targets"]["wheel"]["force-include"]["images/node"]
    shutil.copytree(tmp_path / "images" / "node", installed.parent / place)
    (installed / "analysis").mkdir()
    (installed / "analysis" / "report.py").write_text("")
    assert node_image.name(installed) == node_image.name(package)


def test_nothing_is_built_twice(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "provide", lambda client, recipe: "emulate/libraries:x")
    engine = Engine()
    assert node_image.provide(engine, package)
    assert engine.asked["buildargs"] == {"BASE": "emulate/libraries:x"}
    assert node_image.require(engine, package).id == "sha256:0"
    assert not node_image.provide(engine, package)


def test_two_checkouts_have_an_image_each(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "provide", lambda client, recipe: "emulate/libraries:x")
    other = Path(shutil.copytree(tmp_path, tmp_path / "other")) / "emulator"
    _edit(other)
    engine = Engine()
    assert node_image.provide(engine, package)
    assert node_image.provide(engine, other)
    assert node_image.require(engine, package).id != node_image.require(engine, other).id
    assert engine.get("emulate/node") is engine.get(node_image.name(other))
    assert not node_image.provide(engine, package)
    assert engine.get("emulate/node") is engine.get(node_image.name(package))


def test_a_checkout_that_was_edited_leaves_no_older_image(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "provide", lambda client, recipe: "emulate/libraries:x")
    engine, before = Engine(), node_image.name(package)
    node_image.provide(engine, package)
    _edit(package)
    node_image.provide(engine, package)
    assert before not in engine.found
    assert node_image.require(engine, package)


# -- what is sent to the engine


def test_the_context_is_the_files_named_and_the_same_on_every_host(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"12345")
    (tmp_path / "big").chmod(0o600)
    engine = Engine()
    build(engine, "t", {"Dockerfile": b"FROM scratch", "lib/big": tmp_path / "big"}, base="b")
    assert {name: entry.size for name, entry in engine.sent.items()} == {
        "Dockerfile": 12,
        "lib/big": 5,
    }
    big = engine.sent["lib/big"]
    # Workers run as nobody: what root could read on the host, they must be able to.
    assert (big.mode, big.uid, big.mtime) == (0o644, 0, 0)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_the_context_is_the_tar_archive_of_its_files(tmp_path: Path, size: int) -> None:
    (tmp_path / "big").write_bytes(b"x" * size)
    context = {"ä" * 120: b"text", "lib/big": tmp_path / "big", "empty": b""}
    with tarfile.open(fileobj=io.BytesIO(b"".join(packed(context)))) as archive:
        names = archive.getnames()
        sent = {name: archive.extractfile(name).read() for name in names}
    assert names == sorted(context)
    assert sent == {"ä" * 120: b"text", "lib/big": b"x" * size, "empty": b""}


def test_no_folder_for_scratch_files_is_needed_to_send_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    for opener in ("TemporaryFile", "NamedTemporaryFile", "mkdtemp", "mkstemp", "gettempdir"):
        monkeypatch.setattr(tempfile, opener, full)
    with (tmp_path / "big").open("wb") as big:
        big.truncate(64 << 20)  # a file of holes takes no room
    tracemalloc.start()
    build(Counting(), "t", {"lib/big": tmp_path / "big"}, base="b")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20  # a few pieces, not the archive


@pytest.mark.slow
def test_wheels_are_fetched_without_the_folder_for_temporary_files(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny, cached, found = tmp_path / "tiny", tmp_path / "cache/scratch", tmp_path / "found"
    tiny.mkdir()
    os.utime(tiny, (0, 0))  # a file that comes, or goes, changes the date
    left = cached / "left"  # by a process that was killed
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    monkeypatch.setattr(tempfile, "tempdir", str(tiny))
    monkeypatch.setenv("TMPDIR", str(tiny))
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(libraries, "_SHARED_OBJECTS", ())
    found.mkdir()
    with zipfile.ZipFile(found / "small-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small/__init__.py", "one = 1\n")
        metadata = "Metadata-Version: 2.1\nName: small\nVersion: 1\n"
        wheel.writestr("small-1.dist-info/METADATA", metadata)
        wheel.writestr("small-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("small-1.dist-info/RECORD", "")
    recipe = package.parent / "images/node"
    (recipe / "requirements.txt").write_text(f"--no-index\n--find-links {found}\nsmall==1\n")
    engine = Engine({libraries.BASE: {}})
    libraries.provide(engine, recipe)
    assert "packages/small/__init__.py" in engine.sent
    assert tiny.stat().st_mtime == 0 and not any(tiny.iterdir())
    assert not any(cached.iterdir())


def test_a_file_that_cannot_be_packed_is_named(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"x" * 600)
    pieces = packed({"lib/short": tmp_path / "short"})
    next(pieces)  # the header, which says 600 bytes
    (tmp_path / "short").write_bytes(b"")
    with pytest.raises(HostError, match="lib/short: cannot be packed"):
        list(pieces)
    with pytest.raises(HostError, match=r"lib/none: cannot be packed.*No such file"):
        list(packed({"lib/none": tmp_path / "none"}))


def test_requests_sends_the_context_a_piece_at_a_time(tmp_path: Path) -> None:
    context = {"Dockerfile": b"FROM scratch"}
    asked = requests.Request("POST", "http://engine/build", data=packed(context)).prepare()
    assert asked.headers["Transfer-Encoding"] == "chunked"
    assert b"".join(asked.body) == b"".join(packed(context))


def test_a_failed_build_says_what_its_step_said() -> None:
    said = [{"stream": "Step 1/2\n"}, {"stream": "*** Error compiling x.py\n"}, {"error": "code 1"}]
    with pytest.raises(DeploymentError, match=r"t: .*code 1\n(.*\n)*.*compiling x\.py"):
        build(Engine(said=said), "t", {"Dockerfile": b""}, base="b")


# -- the commands that a newcomer types first


def _engine(stubs: Path, **commands: str) -> subprocess.CompletedProcess[str]:
    """Run images/engine where `commands` stand in for the real ones."""
    for name, script in commands.items():
        (stubs / name).write_text(f"#!/bin/sh\n{script}\n")
        (stubs / name).chmod(0o755)
    path = {"PATH": f"{stubs}:{os.environ['PATH']}"}
    chosen = ("DOCKER_HOST", "DOCKER_CONTEXT")
    environment = {k: v for k, v in os.environ.items() if k not in chosen} | path
    return subprocess.run(
        [ROOT / "images/engine"], env=environment, capture_output=True, text=True, timeout=60
    )


def test_an_engine_that_answers_is_used_as_it_is(tmp_path: Path) -> None:
    done = _engine(tmp_path, docker="exit 0", **{"apt-get": "exit 9", "dockerd": "exit 9"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_root_and_engine_one_message_says_what_to_do(tmp_path: Path) -> None:
    done = _engine(tmp_path, docker="exit 1", id='[ "$1" = -u ] && echo 1000 || echo ada')
    assert done.returncode == 1
    assert done.stderr.count("engine:") == 1
    for remedy in ("as root on Debian", "adduser ada docker", "DOCKER_HOST"):
        assert remedy in done.stderr


def test_the_engine_of_a_context_is_not_started_here(tmp_path: Path) -> None:
    docker = '[ "$1" = context ] && echo colima && exit; exit 1'
    done = _engine(tmp_path, docker=docker, **{"apt-get": "exit 9", "dockerd": "exit 9"})
    assert done.returncode == 1
    assert "start the engine of Docker's context (colima)" in done.stderr


def test_make_help_names_each_command() -> None:
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True).stdout
    for command in ("help", "demo", "test", "check", "images", "data", "bench", "clean"):
        assert f"make {command} " in said


# -- the real one


@pytest.mark.docker
def test_a_locked_container_shapes_its_link_and_opens_tensorflow() -> None:
    script = """
import ctypes, ssl, hashlib, msgspec, numpy.random, os, subprocess, zmq
for command in ("tc qdisc add dev eth0 root tbf rate 8mbit burst 16kb latency 200ms",
                "nft add table inet t"):
    subprocess.run(command.split(), check=True)
os.setuid(65534)
ctypes.CDLL("/opt/tensorflow/libtensorflow_framework.so.2", ctypes.RTLD_GLOBAL)
library = ctypes.CDLL("/opt/tensorflow/libtensorflow_cc.so.2", ctypes.RTLD_LOCAL)
library.TF_Version.restype = ctypes.c_char_p
import emulator.node
print(library.TF_Version().decode())
"""
    client = connect()
    try:
        said = client.containers.run(
            node_image.require(client).id,
            ["-c", script],
            entrypoint="python3",
            read_only=True,
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN", "SETUID"],
            security_opt=["no-new-privileges"],
            labels={"emulate.test": "image"},
            remove=True,
        )
    finally:
        client.close()
    assert said.decode().strip() == TENSORFLOW.version


def test_a_missing_base_is_made_by_its_script(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, made = package.parent / "images" / "node", package.parent / "made"
    monkeypatch.setattr(libraries, "_download", lambda requirements, into: None)
    monkeypatch.setattr(libraries, "_context", lambda recipe, wheels: {})
    (recipe.parent / "base").write_text(f"touch {made}")
    libraries.provide(Engine({}), recipe)
    assert made.is_file()
    (recipe.parent / "base").write_text("exit 3")
    with pytest.raises(HostError, match=r"no image emulate/base:bookworm, and .*base could not"):
        libraries.provide(Engine({}), recipe)
    libraries.provide(Engine({"emulate/base:bookworm": {}}), recipe)
