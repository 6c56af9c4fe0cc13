"""The text that the emulator writes itself: always the same, and more than its pairs of letters."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from emulator.learning import datasets
from emulator.learning.datasets import fetch
from emulator.learning.datasets.formats import ALPHABET
from emulator.learning.datasets.grammar import RULES, WORDS, Grammar, write


@pytest.fixture(scope="module")
def text() -> str:
    return write("train.txt", 200_000)


def test_the_same_name_is_the_same_text(text: str) -> None:
    assert write("train.txt", 200_000) == text
    assert write("train.txt", 999) == text[:999]
    assert write("test.txt", 999) != text[:999]
    assert Grammar({"a": 3, "b": 7}).files(["b"]) == {"b": write("b", 7).encode()}


def test_it_is_the_text_that_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest is in the catalogue: another one would be refused."""
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path))
    said: list[str] = []
    fetch.fetch("sentences", said.append)
    assert said[0] == "sentences: from its own grammar"
    assert said[1].startswith("sentences: 20,000 + 1,000 texts in ")
    assert datasets.load("sentences").train.inputs.shape == (20_000, 50)


def test_it_is_made_of_the_alphabet(text: str) -> None:
    assert len(ALPHABET) == len(set(ALPHABET)) == datasets.find("sentences").task.classes
    assert set(text) <= set(ALPHABET)
    assert len(set(text)) >= 30


def test_nothing_is_left_to_expand(text: str) -> None:
    names = {word for rule in (*RULES.values(), *WORDS.values()) for word in rule.split()}
    assert {name for name in names if name.isupper()} == (RULES | WORDS).keys() - {"SENTENCE"}
    assert not any(sign in text for sign in ("+", "|", "_", "  ", " .", " ?", " ,"))
    *lines, last = text.splitlines()
    assert all(line[-1] in ".?" for line in lines) and len(last) < 500
    assert len(set(lines)) > 0.99 * len(lines)


def test_subjects_and_verbs_agree(text: str) -> None:
    verbs = WORDS["VERB"].split()
    for line in text.splitlines()[:-1]:
        subject, _, rest = line.removeprefix("the ").partition(" ")
        verb = rest.split(" ")[0].rstrip(".")
        if line.startswith("the ") and verb.removesuffix("s") in verbs:
            assert verb.endswith("s") != subject.endswith("s"), line


def share_guessed(text: str, test: str, known: int) -> float:
    """Return the share of `test` guessed right from the last `known` characters, by counts in
    `text`."""
    followers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for at in range(known, len(text)):
        followers[text[at - known : at]][text[at]] += 1
    best = {before: counts.most_common(1)[0][0] for before, counts in followers.items()}
    right = sum(best.get(test[at - known : at]) == test[at] for at in range(known, len(test)))
    return right / (len(test) - known)


@pytest.mark.slow
def test_there_is_more_to_learn_than_pairs_of_letters(text: str) -> None:
    test = write("test.txt", 20_000)
    blind, pairs, triples, seven = (share_guessed(text, test, known) for known in (0, 1, 2, 6))
    assert blind < 0.2 < pairs < 0.4 < triples < 0.65
    assert seven > 0.75
