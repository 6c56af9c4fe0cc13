"""On pages with generated tables, results stand in the tables: no other sentence gives a figure.

A page begins with the set-up. What follows a generated block is about results, up to a paragraph
that begins with one of the words of a set-up in bold letters. Sentences about results may name the
settings of the set-up, and nothing that was measured.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.layers import ROOT

MARK = re.compile(r"<!-- made by `([^`]+)` from here -->.*?<!-- to here -->", re.DOTALL)
BLOCK = "<!-- a generated block -->"
SETUP = re.compile(
    r"\*\*(Claim|Set-up|Protocol|Comparison|Entries|Ours|In containers|The scale)|## Times of"
)
RESULTS = re.compile(rf"\*\*(Verdict|Result|Reading|How much)|## Left out|{BLOCK}")
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
    """Return the pages with generated tables, which are the studies'."""
    found = [
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "papers").glob("*.md")),
    ]
    marks = ("<!-- made by `make ", "<!-- made by `emulate study ")
    return [page for page in found if any(mark in page.read_text() for mark in marks)]


def paragraphs(text: str) -> Iterator[tuple[bool, str]]:
    """Yield whether a paragraph is about results, and its text, for each of `text`, a page."""
    results = False
    for paragraph in re.split(r"\n\n+", MARK.sub(f"\n\n{BLOCK}\n\n", text)):
        results = not SETUP.match(paragraph) and (results or bool(RESULTS.match(paragraph)))
        if paragraph != BLOCK:
            yield results, paragraph


def figures(text: str) -> list[str]:
    """Return the sentences of `text`, a page, that give a figure outside of what is generated."""
    parts = list(paragraphs(text))
    setup = "\n".join(paragraph for results, paragraph in parts if not results)
    named = set(NUMBER.findall(setup))
    found = []
    for paragraph in (paragraph for results, paragraph in parts if results):
        for sentence in re.split(r"(?<=[.:])\s+", NOT_SAID.sub("", paragraph)):
            measured = [number for number in NUMBER.findall(sentence) if number not in named]
            if measured or SHARES.search(sentence):
                found.append(sentence)
    return found


def test_the_pages_are_those_of_the_studies() -> None:
    names = {page.stem for page in pages()}
    assert names >= {"hardy-2017", "chen-2018", "cai-2021", "hadjis-2016", "blanchard-2017"}
    assert names >= {"single-node", "tune", "predict"}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_no_sentence_gives_a_figure_outside_of_what_is_generated(page: Path) -> None:
    assert figures(page.read_text()) == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_results_are_in_no_table_that_a_hand_wrote(page: Path) -> None:
    written = "\n\n".join(text for results, text in paragraphs(page.read_text()) if results)
    assert re.findall(r"^\|.*$", written, re.MULTILINE) == []


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
    block = MARK.pattern.replace("([^`]+)", "make x").replace(".*?", "\n| 7.5 |\n")
    page = (
        f"# Page\n\n16 devices at 0.9.\n\n{block}\n\nWith 16 devices and 0.9 it holds. {sentence}"
    )
    assert figures(page) == [sentence]
    assert figures(f"{page}\n\n**Set-up.** Two fleets.") == [sentence]
    assert figures(page.replace(sentence, f"\n\n**Protocol.** {sentence}")) == []
