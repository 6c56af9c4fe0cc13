"""Files of figures for print, as `report`, `compare` and `export` write them."""

from pathlib import Path

import pytest

from analysis.figures import update_rate
from analysis.pages import page
from tests.fakes.typed_commands import Emulate


@pytest.fixture(autouse=True)
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "FIGURES", (update_rate,))


COLUMN = ("--width", "84mm", "--font", "8")


@pytest.mark.mostly_slow
@pytest.mark.parametrize("form", ["pdf", "svg"])
def test_export_writes_figures(emulate: Emulate, runs: Path, form: str) -> None:
    result = emulate("export", "abc121", "--format", form, *COLUMN, "--out", "paper")
    assert (result.code, result.out) == (0, f"paper/update_rate.{form}\n")
    again = emulate("export", "abc121", "--format", form, "--out", "paper")
    assert again.code == 0, "its own files are replaced"
    Path(f"paper/update_rate.{form}").write_text("mine")
    refused = emulate("export", "abc121", "--format", form, "--out", "paper")
    assert refused.code == 1 and "made or changed by other means" in refused.err


def test_report_and_compare_write_the_formats_asked_for(emulate: Emulate, runs: Path) -> None:
    assert emulate("report", "abc121", "--format", "svg,pdf", *COLUMN).code == 0
    drawn = next(runs.glob("synthetic/*abc121/figures"))
    assert {path.suffix for path in drawn.iterdir()} == {".svg", ".pdf"}
    result = emulate("compare", "abc121", "abc122", "--out", "both", "--format", "png,pdf")
    assert result.code == 0
    assert {path.name for path in Path("both").iterdir() if path.name[0] != "."} == {
        *("compare.html", "update_rate.png", "update_rate.pdf")
    }


@pytest.mark.parametrize("command", ["report", "compare"])
def test_all_mistakes_are_said_at_once(emulate: Emulate, runs: Path, command: str) -> None:
    wrong = ("--format", "png,jpg", "--width", "3.33", "--font", "huge")
    result = emulate(command, "abc121", *wrong)
    assert result.code == 2
    assert (
        "--format: 'jpg' is not png, svg or pdf; --width: '3.33' is not a width from 1.5in to "
        "20in, in in, cm, mm or pt; --font: 'huge' is not a size from 4 to 24 points"
    ) in " ".join(result.err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "abc121", "--width", "3in"), "need --out"),
        (("export", "abc121", "--format", "csv", "--font", "8"), "--format png, svg or pdf"),
        (("export", "abc121", "--format", "pdf", "--width", "900mm"), "--width: '900mm' is not"),
    ],
)
def test_options_that_would_change_nothing_are_refused(
    emulate: Emulate, runs: Path, words: tuple[str, ...], said: str
) -> None:
    result = emulate(*words)
    assert result.code == 2 and said in " ".join(result.err.split())
