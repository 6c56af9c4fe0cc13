"""The output of programs: plain files alone, up to a bound, and what is missing is said."""

import io
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import NotFound

from emulator.runtimes.docker.workload import output_copies
from emulator.runtimes.docker.workload.output_copies import copy_output


def archive(**files: bytes) -> bytes:
    """Return a tar of the folder `out` with `files`, by their names with `__` for a slash."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"out/{name.replace('__', '/')}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("out/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return made.getvalue()


def engine(answer: bytes | Exception) -> Any:
    def get_archive(container: str, path: str) -> tuple[list[bytes], dict[str, Any]]:
        if isinstance(answer, Exception):
            raise answer
        return [answer[at : at + 700] for at in range(0, len(answer), 700)], {}

    return SimpleNamespace(api=SimpleNamespace(get_archive=get_archive))


def test_plain_files_are_copied(tmp_path: Path) -> None:
    given = engine(archive(a=b"1" * 3000, sub__b=b"2"))
    assert copy_output(given, "c", "/out", tmp_path / "node") == ""
    found = {
        path.name: path.read_bytes() for path in (tmp_path / "node").rglob("*") if path.is_file()
    }
    assert found == {"a": b"1" * 3000, "b": b"2"}


def test_no_file_leaves_the_folder(tmp_path: Path) -> None:
    copy_output(
        engine(archive(**{"..__..__out": b"x", "ok": b"y"})), "c", "/out", tmp_path / "node"
    )
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "node" / "ok"]


def test_a_program_without_output_lacks_nothing(tmp_path: Path) -> None:
    assert copy_output(engine(NotFound("none")), "c", "/out", tmp_path / "node") == ""
    assert not (tmp_path / "node").exists()


def test_what_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_copies, "MOST", 1 << 20)
    given = engine(archive(large=bytes((1 << 20) + 1), small=b"2"))
    said = copy_output(given, "c", "/out", tmp_path / "node")
    assert said == "without 'large': more than 1 MiB for a program"
    assert (tmp_path / "node" / "small").read_bytes() == b"2"


def test_a_copy_that_breaks_off_says_so(tmp_path: Path) -> None:
    given = engine(archive(a=b"1" * 3000)[:2000])
    assert copy_output(given, "c", "/out", tmp_path / "node").startswith("incomplete: ")


def test_a_folder_that_takes_no_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "node").write_text("a file in its place")
    said = copy_output(engine(archive(a=b"1")), "c", "/out", tmp_path / "node")
    assert said.startswith("incomplete: ")
