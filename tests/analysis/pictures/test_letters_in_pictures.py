"""Every picture, with names of devices, runs, classes and files of any letters: no warning, no
formula made of a name, no letter without a glyph, and no name that fills the picture."""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
import pytest
from matplotlib.text import Text

from analysis import RunError, read
from analysis.pages.compare import compare_html
from analysis.pages.report import report
from analysis.pictures import fault_gantt, gantt, link_trace, picture_file, split_picture
from tests.fakes.runs.synthetic_run import Synthetic

NAMES = {
    "chinese": "家庭路由器",
    "formula": "$x$",
    "broken formula": r"$\frac{$_^",
    "control": "a\x00b\x1b[0m",
    "surrogate": "\udcff\ud800",
    "long": "letters" * 43,
    "emoji and right to left": "🦊 שלום",
    "no font": "\U0001f000\U00012000",
}

_POWER = r"$\mathdefault{"
"""Begin of a label of a power of ten, which matplotlib writes as a formula."""

Draw = Callable[[str, Path], Path]


def _split(name: str, path: Path) -> Path:
    counts = np.arange(4).reshape(2, 2)
    return split_picture.png([name, "b"], [name, "2"], counts, [3, 4], path, title=name, axis=name)


def _split_without_classes(name: str, path: Path) -> Path:
    return split_picture.png([name, "b"], [], np.zeros((2, 0), int), [3, 4], path, title=name)


def _plan(name: str, path: Path) -> Path:
    rows = [(name, "crash", 1.0, 4.0), ("b", "pause", 2.0, None)]
    return fault_gantt.png(rows, [name, "b"], 9.0, path, title=name, expected=[("flip", 0.1, 2)])


def _own_fault(name: str, path: Path) -> Path:
    rows = [("a", name, 1.0, 4.0)]
    return fault_gantt.png(rows, ["a"], 9.0, path, expected=[(name, 0.1, 1)])


def _schedule(name: str, path: Path) -> Path:
    spans = {key: [(0.0, 1.0)] for key in ("pulled", "forward", "backward", "pushed")}
    row = gantt.gantt_row(name, pull=[(1, 2)], push=[(1, 2)], **spans)
    return gantt.png({name: [row], "b": [row]}, path)


def _trace(name: str, path: Path) -> Path:
    return link_trace.png([(0.0, 1e6, 0.01, 0.1)], 9.0, path, title=name)


PICTURES: dict[str, Draw] = {
    "split": _split,
    "split without classes": _split_without_classes,
    "plan": _plan,
    "plan with a fault of one's own": _own_fault,
    "schedule": _schedule,
    "trace": _trace,
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_picture_of_a_command(draw: Draw, name: str, tmp_path: Path, letters: list[str]) -> None:
    assert draw(name, tmp_path / "a.png").stat().st_size > 1000
    _check_letters(letters)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts of all pictures that the test draws, and matplotlib's warnings on letters."""
    drawn: list[str] = []
    draw = Text.draw

    def noted(text: Text, *arguments: Any, **named: Any) -> None:
        drawn.append(text.get_text())
        shown = text.get_text()
        assert "$" not in shown or _POWER in shown or not text.get_parse_math(), shown
        draw(text, *arguments, **named)

    monkeypatch.setattr(Text, "draw", noted)
    # a letter without a glyph is a warning, and warnings are errors in tests
    monkeypatch.setattr(picture_file, "fonts_missing", nullcontext)
    return drawn


def _check_letters(drawn: list[str]) -> None:
    assert drawn
    for text in drawn:
        assert max(map(len, text.split("\n"))) <= 200, text
        assert all(letter == "\n" or category(letter) not in ("Cc", "Cs") for letter in text)


@pytest.mark.slow
def test_reports_and_comparisons(tmp_path: Path, letters: list[str]) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, algorithm in zip(folders, ("adacomp", "asgd"), strict=True):
        made = Synthetic(devices=8, updates=160, algorithm=algorithm)
        made.faults = [("crash", "fiber-1", 1.0, 0.5), ("partition", "adsl-0", 0.5, 0.4)]
        made.write(folder)
        for file in folder.iterdir():
            file.write_text(_renamed(file.read_text(), made.names()))
        report(folder)
    compare_html([read(folder) for folder in folders], tmp_path / "compared")
    _check_letters(letters)
    assert any("家庭" in text or "U+5BB6" in text for text in letters)
    assert any("$x$" in text for text in letters)


def test_half_a_letter_in_a_log_is_damage(tmp_path: Path) -> None:
    Synthetic(devices=1, updates=9, faults=[]).write(tmp_path)
    log = tmp_path / "run.jsonl"
    log.write_text(log.read_text().replace('"fiber-0"', json.dumps(NAMES["surrogate"])))
    with pytest.raises(RunError, match=r"run\.jsonl:\d+: holds half of a letter"):
        read(tmp_path)


def _renamed(text: str, devices: list[str]) -> str:
    """Return `text` of a run with the names of `NAMES` in place of `devices` and of the run."""
    names = [name[:64] for kind, name in NAMES.items() if kind != "surrogate"]
    for old, new in zip(["synthetic", *devices], [NAMES["chinese"], *names], strict=False):
        quoted = json.dumps(new, ensure_ascii=False)
        text = text.replace(f'"{old}"', quoted)
        text = re.sub(rf"(?<=: ){old}$", lambda _, quoted=quoted: quoted, text, flags=re.M)
    return text
