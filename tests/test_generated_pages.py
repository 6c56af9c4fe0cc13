"""On pages with generated tables, results stand in the tables: no other sentence gives a figure.

A page begins with the set-up. From the verdict on, sentences outside of what a command makes may
name the settings of the set-up, and nothing that was measured.
"""

import re
from pathlib import Path

import pytest

from tests.layers import ROOT

MARK = re.compile(r"<!-- made by `([^`]+)` from here -->.*?<!-- to here -->", re.DOTALL)
VERDICT = re.compile(r"^\*\*(Verdict|Result|How much of that is noise)", re.MULTILINE)
NOT_SAID = re.compile(
    r"^ {4}.*$|^\|.*$|`[^`]*`|!\[[^\]]*\]|\]\([^)]*\)|\([^()]* et al\.[^()]*\)|https?://\S+",
    re.MULTILINE,
)
"""Code, tables (a test of its own), what pictures show, link targets and citations."""
NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d|(?<![\w.,])\d")
SHARES = re.compile(
    r"\b(?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|twentieth)s?\b"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten) times\b"
)


def pages() -> list[Path]:
    """Return the pages with tables of `make`, which are the studies'."""
    found = sorted((ROOT / "docs").glob("*.md"))
    return [page for page in found if "<!-- made by `make " in page.read_text()]


def figures(text: str) -> list[str]:
    """Return the sentences of `text`, a page, that give a figure outside of what is generated."""
    begun = VERDICT.search(text)
    assert begun, "no verdict"
    setup, results = text[: begun.start()], MARK.sub("", text[begun.start() :])
    assert "<!--" not in results
    named = set(NUMBER.findall(MARK.sub("", setup)))
    found = []
    for sentence in re.split(r"(?<=[.:])\s+|\n\n", NOT_SAID.sub("", results)):
        measured = [number for number in NUMBER.findall(sentence) if number not in named]
        if measured or SHARES.search(sentence):
            found.append(sentence)
    return found


def test_the_pages_are_those_of_the_studies() -> None:
    names = {page.stem for page in pages()}
    assert names >= {"adacomp", "residual", "pulls", "dynacomm", "omnivore", "reliability"}
    assert names >= {"byzantine", "single-node", "tune"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_no_sentence_gives_a_figure_outside_of_what_is_generated(page: Path) -> None:
    assert figures(page.read_text()) == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_results_are_in_no_table_that_a_hand_wrote(page: Path) -> None:
    text = page.read_text()
    begun = VERDICT.search(text)
    assert begun
    assert re.findall(r"^\|.*$", MARK.sub("", text[begun.start() :]), re.MULTILINE) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "One group takes a third more.",
        "It took 13.6 s.",
        "It is 49 % slower.",
        "It is 1,611 times.",
    ],
)
def test_a_sentence_with_a_figure_is_found(sentence: str) -> None:
    page = (
        f"# Page\n\n16 devices at 0.9.\n\n**Verdict.** With 16 devices and 0.9 it holds. {sentence}"
    )
    assert figures(page) == [sentence]
