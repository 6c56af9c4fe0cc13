"""Files of figures for print: formats, size and text, and the same bytes for the same run."""

import re
import zlib
from pathlib import Path

import pytest
from matplotlib.image import imread

from analysis import read
from analysis.figures import loss, update_rate
from analysis.pictures import drawing
from analysis.pictures.picture_file import DPI, Print, sheet
from analysis.reading.runs import Run
from tests.fakes.runs.synthetic_run import Synthetic


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read(Synthetic(devices=2, updates=100).write(tmp_path_factory.mktemp("run") / "one"))


def test_every_format_is_written_in_the_size_of_a_column(run: Run, tmp_path: Path) -> None:
    prints = Print(("png", "svg", "pdf"), width=3.33, font=8)
    page = drawing.both(update_rate, [run], tmp_path, prints)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("update_rate.png", "update_rate.svg", "update_rate.pdf")
    }
    assert imread(tmp_path / "update_rate.png").shape[1] == int(3.33 * DPI)
    text = (tmp_path / "update_rate.svg").read_text(encoding="utf-8")
    assert 'width="239.76pt"' in text and "xmlns=" in text
    assert ">updates / s</text>" in text and re.search(r"font(-size)?: 8px", text)
    media = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ", (tmp_path / "update_rate.pdf").read_bytes())
    assert media and float(media[1]) == pytest.approx(3.33 * 72)
    assert 'viewBox="0 0 518.4' in page, "the page keeps its own size"


def test_the_same_run_gives_the_same_bytes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = Print(("png", "svg", "pdf"))
    drawing.both(loss, [run], tmp_path / "a", prints)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")  # another time, for whatever has a date
    drawing.both(loss, [run], tmp_path / "b", prints)
    for form in prints.formats:
        first, second = (tmp_path / name / f"loss.{form}" for name in "ab")
        assert first.read_bytes() == second.read_bytes(), form
        assert b"Date" not in first.read_bytes()


def test_text_in_a_pdf_is_text(run: Run, tmp_path: Path) -> None:
    drawing.both(loss, [run], tmp_path, Print(("pdf",)))
    content = (tmp_path / "loss.pdf").read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.S)
    unpacked = b"".join(zlib.decompress(each) for each in streams if each[:1] == b"\x78")
    # codes of two bytes with the kerning between them, as of a TrueType font
    assert b"updates" in b"".join(re.findall(rb"\(\x00(.)\)", unpacked, re.S))


def test_without_data_files_of_all_formats_go(run: Run, tmp_path: Path) -> None:
    empty = read(Synthetic(devices=1, updates=0, faults=[]).write(tmp_path / "empty"))
    for form in ("png", "pdf"):
        (tmp_path / f"update_rate.{form}").touch()
    assert drawing.both(update_rate, [empty], tmp_path) == ""
    assert not list(tmp_path.glob("update_rate.*"))


def test_a_sheet_has_the_formats_and_the_width_that_are_asked_for(tmp_path: Path) -> None:
    with sheet(tmp_path / "a.png", 7.2, 3.6, prints=Print(("svg", "pdf"), 3.6)) as figure:
        figure.subplots()
        assert list(figure.get_size_inches()) == [3.6, pytest.approx(3.0)]
    assert {path.name for path in tmp_path.iterdir()} == {"a.svg", "a.pdf"}
