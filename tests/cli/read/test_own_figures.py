"""Figures of users in the report of a run: drawn from its tables, and told where they fail."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from analysis import read
from analysis.figures import staleness
from analysis.pages import page
from emulator.errors import ScenarioError
from emulator.plugins import family
from emulator.runs.plugin_sources import plugin_sources
from emulator.scenario import dump, load
from emulator.scenario.reading.plugin_files import installed_plugins
from emulator.scenario.sections.run_sections import FIGURES
from emulator.sweeps.point import Point
from tests.fakes.small_scenario import SMALL
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

SHIPPED = ROOT / "scenarios" / "own" / "figures.py"
OTHERS = """
import sys
from dataclasses import dataclass

@dataclass(frozen=True)
class Broken:
    '''Updates & <pulls>.'''
    def draw(self, runs, ax):
        ax.plot(runs.updates["nodes"])

@dataclass(frozen=True)
class Leaving:
    def draw(self, runs, ax):
        sys.exit("gone")

@dataclass(frozen=True)
class Misspelt:
    def draw(self, runs, ax):
        ax.set_title(r"$\\frac$")

@dataclass(frozen=True)
class Tall:
    '''Evaluations & <pulls>.

    Accuracies of
    the run.
    '''
    height = 7.0
    def draw(self, runs, ax):
        assert len(runs) == 1
        ax.plot(runs.evaluations["at"], runs.evaluations["accuracy"])
"""


@pytest.fixture
def run(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose scenario keeps figures, some of which fail; with few of the package's own."""
    monkeypatch.setattr(page, "FIGURES", (staleness,))
    folder = runs / "synthetic" / "20250101T120000Z-abc121"
    (folder / "plugins").mkdir()
    (folder / "plugins" / "others.py").write_text(OTHERS)
    (folder / "plugins" / "figures.py").write_text(SHIPPED.read_text())
    kept = (
        "\nreport:\n  figures: ["
        + "".join(f"./plugins/others.py:{name}, " for name in ("Broken", "Leaving", "Misspelt"))
        + "./plugins/gone.py:Gone, not-installed, ./plugins/others.py:Tall,\n    "
        + "{kind: ./plugins/figures.py:LossByDevice},"
        + "{kind: ./plugins/figures.py:LossByDevice, window: 7}]\n"
    )
    scenario = folder / "scenario.yaml"
    scenario.write_text(scenario.read_text() + kept)
    return folder


@pytest.mark.slow
def test_a_report_has_the_figures_that_can_be_drawn_and_tells_of_the_others(
    emulate: Emulate, run: Path
) -> None:
    result = emulate("report", "abc121", "--trust")
    assert result.code == 0
    text = (run / "report.html").read_text()
    for word in ("Loss by device.</b> Loss on the mini-batches", "Loss by device, window: 7.</b>"):
        assert word in text
    assert "Evaluations &amp; &lt;pulls&gt;.</b> Accuracies of the run." in text
    assert 'aria-label="Evaluations &amp; &lt;pulls&gt;"' in text
    drawn = {path.stem for path in (run / "figures").glob("*.png")}
    loss = {"figures-LossByDevice", "figures-LossByDevice-2"}
    assert drawn == {"staleness", "others-Tall", *loss}
    failed = {
        "others.py:Broken": "plugins/others.py:9: raises KeyError: &#39;nodes&#39;",
        "others.py:Leaving": "plugins/others.py:14: raises SystemExit: gone",
        "others.py:Misspelt": "plugins/others.py: raises ValueError: ",
        "gone.py:Gone": "plugins/gone.py: cannot be read: No such file or directory",
        "not-installed": "&#39;not-installed&#39; is not ./figures.py:Class",
    }
    said = [line for line in result.err.splitlines() if line.startswith("figure ")]
    for (name, reason), line in zip(failed.items(), said, strict=True):
        assert f"cannot be drawn: {reason}" in text
        assert line.startswith(f"figure       {name} cannot be drawn: ")
        assert reason.replace("&#39;", "'") in line


@pytest.mark.slow
def test_a_command_replaces_a_figure_or_adds_one(
    emulate: Emulate, run: Path, tmp_path: Path
) -> None:
    mended = OTHERS.replace('"nodes"', '"staleness"')
    (tmp_path / "others.py").write_text(mended)
    more = "{kind: ./others.py:Tall}"
    figures = ("--figure", "./others.py:Broken", "--figure", more)
    result = emulate("report", "abc121", "--trust", *figures)
    assert (result.code, "Broken" in result.err) == (0, False)
    assert (run / "figures" / "others-Broken.png").is_file()
    assert not (run / "figures" / "others-Tall-2.png").exists()


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ("./others.py:Broke", "others.py: has no 'Broke' (did you mean 'Broken'?)"),
        ("{kind: ./others.py:Tall, window: 2}", "window: no such key"),
        ("others", "'others' is not ./figures.py:Class"),
        ("[]", "names no figure: write ./figures.py:Class"),
    ],
)
def test_a_wrong_figure_is_refused_before_anything_is_drawn(
    emulate: Emulate, run: Path, tmp_path: Path, figure: str, says: str
) -> None:
    (tmp_path / "others.py").write_text(OTHERS)
    result = emulate("report", "abc121", "--figure", figure)
    assert (result.code, says in result.err, len(result.err.splitlines())) == (2, True, 1)
    assert not (run / "report.html").exists()


def written(tmp_path: Path, figures: str) -> Path:
    (tmp_path / "figures.py").write_text(SHIPPED.read_text())
    file = tmp_path / "lab.yaml"
    file.write_text(f"{SMALL}report: {{figures: [{figures}]}}\n")
    return file


def test_a_scenario_names_figures_and_its_run_keeps_them(tmp_path: Path) -> None:
    loss = "./figures.py:LossByDevice"
    scenario = load(written(tmp_path, f"{loss}, {{kind: {loss}, window: 5}}"))
    assert scenario.report is not None
    assert [each.window for each in scenario.report.figures] == [20, 5]  # type: ignore[attr-defined]
    folder = tmp_path / "run"
    sources = plugin_sources(scenario, folder)
    sources.write(folder)
    places = {text: f"./plugins/{place}" for text, place in sources.places.items()}
    (folder / "scenario.yaml").write_text(dump(scenario, places))
    kept = read_report(folder)
    assert [each["kind"] for each in kept] == ["./plugins/figures.py:LossByDevice"] * 2
    assert load(folder / "scenario.yaml").report is not None
    assert Point("a", scenario).digest == Point("a", load(written(tmp_path, ""))).digest


def read_report(folder: Path) -> list[dict[str, object]]:
    (folder / "summary.json").write_text("{}")
    figures: list[dict[str, object]] = read(folder).scenario["report"]["figures"]
    return figures


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ("./figures.py:Loss", "figures.py: has no 'Loss': it defines LossByDevice"),
        ("{kind: ./figures.py:LossByDevice, windo: 5}", "windo: no such key (did you mean"),
        ("lost", "'lost' is not ./file.py:Class"),
        ("./half.py:Half", "half.py:24: 'Half' is no figure: it lacks draw"),
    ],
)
def test_a_wrong_figure_of_a_scenario_has_its_line(tmp_path: Path, figure: str, says: str) -> None:
    (tmp_path / "half.py").write_text((SHIPPED.parent / "half.py").read_text())
    with pytest.raises(ScenarioError) as caught:
        load(written(tmp_path, figure))
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{tmp_path}/lab.yaml:10: report.figures[0]")
    assert says in line


@pytest.mark.slow
def test_an_installed_package_offers_figures(
    tmp_path: Path, runs: Path, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "acme_figures"
    package.mkdir()
    (package / "__init__.py").write_text(OTHERS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(page, "FIGURES", (staleness,))
    points = {
        name: EntryPoint(name, f"acme_figures:{name.title()}", FIGURES.group) for name in WORDS
    }
    monkeypatch.setattr(
        family, "_entry_points", lambda group: points if group == FIGURES.group else {}
    )
    assert {plugin.kind for plugin in installed_plugins()} == set(WORDS)
    result = emulate("report", "abc121", "--figure", "tall", "--figure", "broken")
    assert f"broken cannot be drawn: {package}/__init__.py:9: raises KeyError" in result.err
    scenario = load(written(tmp_path, "tall"))
    assert scenario.report is not None


WORDS = ("tall", "broken")
