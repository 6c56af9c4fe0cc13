"""What the documentation says can be typed can be typed, and what it shows works."""

import re
import shutil
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from emulator.cli.entry import commands
from emulator.layout import Layout, Variable
from emulator.machine.shipped_files import study_files
from emulator.scenario import loads
from tests.fakes.installing.doc_blocks import blocks
from tests.layers import ROOT

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "papers").glob("*.md")),
]
OWN = ROOT / "scenarios" / "own"
BY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def test_the_readme_is_short() -> None:
    assert len(PAGES[0].read_text().splitlines()) <= 120


@BY_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert "://" in target or (page.parent / target).is_file(), target


def anchors(page: Path) -> set[str]:
    """Return the anchors that readers of Markdown give to a page's titles."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@BY_PAGE
def test_links_lead_to_titles(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        assert anchor in anchors(page.parent / target if target else page), f"{target}#{anchor}"


@BY_PAGE
def test_no_merge_is_unfinished(page: Path) -> None:
    assert not re.search(r"^(<{7} |={7}$|>{7} )", page.read_text(), re.MULTILINE)


PLACES = r"(?<![\w/.<$-])(?:\.ci|analysis|docs|emulator|images|scenarios|tests)/[\w./*{}-]*\w"
EXAMPLES = {"emulator/codecs/half.py"}
"""The file that docs/add-a-codec.md has the reader write."""


@pytest.mark.parametrize("page", [*PAGES, ROOT / "Makefile"], ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    named = set(re.findall(PLACES, page.read_text())) - EXAMPLES
    assert {path for path in named if not any(ROOT.glob(path))} == set()


MODULES = r"`((?:\w+/)+\w+\.py)`"
"""A module in the text of a page or a docstring, by its place in the repository or in a package."""
TEXTS = [*PAGES, *(path for top in ("emulator", "analysis") for path in (ROOT / top).rglob("*.py"))]


def test_modules_exist_that_pages_and_docstrings_name() -> None:
    packages = (ROOT, ROOT / "emulator", ROOT / "emulator" / "scenario", ROOT / "analysis")
    assert {
        f"{path.relative_to(ROOT)}: {name}"
        for path in TEXTS
        for name in re.findall(MODULES, path.read_text())
        if name not in EXAMPLES and not any((package / name).is_file() for package in packages)
    } == set()


@pytest.mark.parametrize(
    ("page", "package"),
    [
        ("add-a-codec.md", "emulator.codecs"),
        ("add-a-failure-profile.md", "emulator.world.faults"),
        ("add-a-figure.md", "analysis.figures"),
    ],
)
def test_code_of_pages_imports_names_that_exist(page: str, package: str) -> None:
    lines = re.findall(r"^from (\.+[\w.]*) import (.*)$", (ROOT / "docs" / page).read_text(), re.M)
    missing = {
        f"{module}: {name}"
        for module, names in lines
        for name in names.split(", ")
        if module != ".half"  # the file that the page has the reader write
        if not hasattr(import_module(module, package), name)
    }
    assert lines and missing == set()


@BY_PAGE
def test_commands_exist(page: Path) -> None:
    text = page.read_text()
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets += [f"figure-{name}" for name in study_files()]  # by a pattern
    typed = re.findall(r"(?:^    |`)(emulate|make) ([a-z-]+)", text, re.MULTILINE)
    for program, word in typed:
        assert word in (commands.commands if program == "emulate" else targets), (program, word)


@BY_PAGE
def test_scenarios_can_be_read(page: Path, tmp_path: Path) -> None:
    for name in ("half.py", "figures.py"):
        shutil.copy(OWN / name, tmp_path)
    for text in blocks(page, "python"):
        if "class First" in text:
            (tmp_path / "first.py").write_text(text)
    for text in blocks(page, "yaml"):
        if "training:" in text and "codec: half" not in text:
            loads(text, folder=tmp_path)


def test_the_page_on_plugins_shows_the_shipped_files() -> None:
    page = ROOT / "docs" / "own-plugin.md"
    for name in ("half.py", "figures.py"):
        assert (OWN / name).read_text() in blocks(page, "python")
    question, scenario = (OWN / "half.yaml").read_text().split("\n", 1)
    assert question.endswith("?")
    assert scenario in blocks(page, "yaml")


def test_the_readme_shows_a_scenario_that_fits_a_screen() -> None:
    (text,) = blocks(PAGES[0], "yaml")
    assert len(text.splitlines()) <= 15


def test_the_codec_that_is_added_by_way_of_example(monkeypatch: pytest.MonkeyPatch) -> None:
    code, definition = (
        next(block for block in blocks(ROOT / "docs" / "add-a-codec.md", "python") if word in block)
        for word in ("class Half", "def halved")
    )
    module = ModuleType("emulator.codecs.half")
    module.__package__ = "emulator.codecs"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code + definition.partition("TABLE")[0], module.__dict__)
    layout = Layout((Variable("v", (500,), "dense", 0),))
    gradient = np.linspace(-1e5, 1e5, 500, dtype=np.float32)
    frames = module.Half().encode(gradient, layout)
    assert sum(module.Half().count(frames)) == sum(map(len, frames)) == 1000
    said = module.Half().decode(frames, layout).values
    assert np.array_equal(said, module.halved(gradient, layout))
