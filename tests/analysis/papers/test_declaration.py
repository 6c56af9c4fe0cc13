"""Declarations in studies' files: what they may say, and mistakes in them, all at once."""

from pathlib import Path

import pytest

from analysis import RunError
from analysis.papers.declaration import declaration, declared, papers
from emulator.sweeps.studies import STUDIES

FILE = """
name: made-up
source: nobody
scenario: ../../adacomp.yaml
base: ASGD
tables:
  - columns: [rate, ended, fewer pushed to 97%, gain best, {share: "compression of {each} 1/2"},
              difference best]
    each: [conv, dense]
figures:
  - {name: bytes, kind: curves, x: pushed, y: [accuracy, loss]}
  - {name: grid, kind: along, along: c, y: best}
  - {name: both, kind: across, x: compression of wire, y: least error}
claims:
  fewer:
    claim: fewer
    of: {measure: pushed to 97%, entry: AdaComp, against: ASGD, as: ratio}
    rule: all-at-least
    bound: 100
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "nobody-2020" / "made-up.yaml"
    file.parent.mkdir()
    file.write_text(text)
    return file


def test_a_file_is_read(tmp_path: Path) -> None:
    found = declaration(written(tmp_path, f"# Is it so?\n{FILE}"))
    assert (found.name, found.paper, found.base) == ("made-up", "nobody-2020", "ASGD")
    assert found.question == "Is it so?"
    heads = [head for head, _ in found.tables[0].measures()]
    assert heads == ["", "", "", "", "share", ""]
    assert found.figures[0].rows_of_panels == ["accuracy", "loss"]
    assert found.claims["fewer"].bound == 100
    assert found.scenario == "adacomp.yaml"


MISTAKES = {
    "fewer pushed to 97%": ("fewer pushd", r"\.tables\[0\]\.columns: 'pushd' is not a measure: "),
    "1/2": ("1/7", r"\.tables\[0\]\.columns: 'compression of conv 1/7' is not a measure"),
    "x: pushed": ("x: time", r"\.figures\[0\]\.x: 'time' is not updates or seconds or epochs"),
    "[accuracy, loss]": ("ended", r"\.figures\[0\]\.y: 'ended' is not accuracy or error"),
    "x: compression of wire": ("x: epochs", r"\.figures\[2\]\.x: 'epochs' is not a measure"),
    "least error": ("fewer error", r"\.figures\[2\]\.y: 'fewer error' is not a measure"),
    "along: c, ": ("", r"\.figures\[1\]: a figure along a grid needs the key 'along'"),
    "kind: along": ("kind: pie", r"\.figures\[1\]: Invalid enum value 'pie'"),
    "measure: pushed to 97%": ("measure: sent", r"\.claims\.fewer\.of\.measure: 'sent' is not"),
    "rule: all-at-least": ("rule: best", r"\.claims\.fewer\.rule: 'best' is not a rule: less or"),
    "    bound: 100": ("", r"\.claims\.fewer: the rule 'all-at-least' needs key 'bound'"),
    "base: ASGD": ("", r"\.tables\[0\]\.columns: 'fewer pushed to 97%' needs the key 'base'"),
    "    claim: fewer\n": ("", r"\.claims\.fewer: Object missing required field `claim`"),
    "as: ratio": (
        "as: difference",
        r"\.claims\.fewer\.of\.against: a difference is from virtual time: leave it out",
    ),
    "kind: curves": ("kind: curves, z: 1", r"\.figures\[0\]: Object contains unknown field `z`"),
}


@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_is_refused_with_its_place(right: str, tmp_path: Path) -> None:
    wrong, message = MISTAKES[right]
    assert right in FILE
    with pytest.raises(RunError, match=r"made-up\.yaml: " + message):
        declaration(written(tmp_path, FILE.replace(right, wrong)))


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = FILE.replace("x: pushed", "x: time").replace("rule: all-at-least", "rule: best")
    with pytest.raises(RunError) as refused:
        declaration(written(tmp_path, text.replace("ended", "end")))
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize("text", ["[", "just a text", "- a\n- list"])
def test_a_file_that_is_no_study_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"made-up\.yaml: "):
        declaration(written(tmp_path, text))


@pytest.mark.parametrize("name", [name for names in papers().values() for name in names])
def test_a_shipped_file_asks_a_question_and_has_results(name: str) -> None:
    found = declared(name)
    assert found.question.endswith("?")
    assert found.tables or name in ("dynacomm", "omnivore")
    worlds = {world for claim in found.claims.values() for world in claim.worlds or ()}
    worlds |= {world for table in found.tables for world in table.worlds or ()}
    worlds |= {world for figure in found.figures for world in figure.worlds or ()}
    assert worlds <= {entry.world for entry in STUDIES[name].entries}


@pytest.mark.parametrize("name", [name for names in papers().values() for name in names])
def test_pushed_bytes_never_stand_alone_in_a_table(name: str) -> None:
    """A table by models of bytes, which describe pushes, says that pulls are not in it."""
    for table in declared(name).tables:
        if "pulls are not in it" in table.title:
            continue
        columns = {column for _, column in table.measures()}
        for column in (each for each in columns if "pushed" in each):
            ways = ("pulled", "both") if column.startswith("pushed") else ("both",)
            missing = {column.replace("pushed", way) for way in ways} - columns
            assert not missing, (table.title, column)
