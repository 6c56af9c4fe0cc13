"""Generated texts: sentences in simple English from a probabilistic grammar.

The texts serve to learn characters from, offline and without a licence but our own. The next
character depends on more than the one before: on spelling, on the number of the subject, at times
with a relative clause in between, and on whether the sentence began as a question or in the past.
"""

from bisect import bisect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from ... import chance
from .archives import Files

RULES = {
    "SENTENCE": "7 NOW + . | 2 NOW + , LINK NOW + . | 2 PAST + . | 3 QUESTION + ?",
    "NOW": "5 ONE ACTS | 3 MANY ACT | 1 PLACE + , ONE ACTS | 1 PLACE + , MANY ACT",
    "PAST": "2 WHEN + , ONE ACTED | 2 WHEN + , MANY ACTED | 1 ONE ACTED WHEN",
    "QUESTION": "3 does ONE DO | 2 do MANY DO | 1 ASK does ONE DO | 1 ASK do MANY DO",
    # subjects and objects
    "ONE": "5 the NOUN | 2 a NOUN | 3 the QUALITY NOUN | 1 the PERSON + 's NOUN"
    " | 1 the PERSON who ACTS",
    "MANY": "4 the NOUN + s | 2 NUMBER NOUN + s | 2 NUMBER QUALITY NOUN + s"
    " | 1 the PERSON + s who ACT",
    "ANY": "3 ONE | 2 MANY",
    "NOUN": "3 PERSON | 4 THING",
    "PLACE": "1 ON the THING",
    # predicates
    "DO": "8 VERB ANY | 1 VERB ANY PLACE",
    "ACTS": "8 VERB + s ANY | 1 VERB + s ANY PLACE | 1 does not DO",
    "ACT": "8 DO | 1 do not DO",
    "ACTED": "8 VERB + ed ANY | 1 did not DO",
}
"""Alternatives of each name, with relative frequencies. `+` joins its neighbours without a
space."""

WORDS = {
    "PERSON": "farmer sailor teacher doctor painter brother king stranger sister neighbour soldier"
    " gardener baker judge",
    "THING": "dog letter garden boat window horse river table lamp bird road kitchen picture"
    " bottle mountain ship flower bridge basket tower clock candle forest",
    "VERB": "follow need want help clean paint answer visit open cover greet lift mend guard"
    " collect remember warn",
    "QUALITY": "little tired good young happy quiet broken green heavy strange clever proud",
    "NUMBER": "two three many some seven twenty",
    "ON": "in near behind before under beyond",
    "WHEN": "yesterday last_night long_before_that in_the_winter",
    "ASK": "why when_exactly where",
    "LINK": "and but because while",
}
"""Words of each name; the n-th word has a frequency proportional to 1/(n + 1)."""

Choices: TypeAlias = Mapping[str, tuple[list[float], list[list[str]]]]
"""For each name, cumulative frequencies of the alternatives, and the items of each alternative."""


@dataclass(frozen=True)
class Grammar:
    """A Source with generated files."""

    lengths: Mapping[str, int]
    """Number of characters of each file."""

    def __str__(self) -> str:
        return "its own grammar"

    def files(self, names: Collection[str]) -> Files:
        return {name: write(name, self.lengths[name]).encode() for name in names}


def write(name: str, length: int) -> str:
    """Return the first `length` characters of the text called `name`, a sentence a line.

    The text depends on `name` alone.
    """
    chances, choices = _chances(name), _choices()
    lines: list[str] = []
    written = 0
    while written < length:
        lines.append(_sentence(choices, chances) + "\n")
        written += len(lines[-1])
    return "".join(lines)[:length]


def _sentence(choices: Choices, chances: Iterator[float]) -> str:
    """Return a sentence, using a number of `chances` for each name that is replaced."""
    # a stack, the next item on top: names are replaced by an alternative, words are kept
    pending, words = ["SENTENCE"], []
    while pending:
        word = pending.pop()
        if word not in choices:
            words.append(word)
            continue
        ends, alternatives = choices[word]
        pending += reversed(alternatives[bisect(ends, next(chances) * ends[-1])])
    return " ".join(words).replace(" + ", "").replace("_", " ")


def _chances(name: str) -> Iterator[float]:
    """Yield uniform numbers in [0, 1) without end, from the stream of the text `name`."""
    rng = chance.stream(chance.made_up_texts(name))
    while True:
        yield from rng.random(4096).tolist()


def _choices() -> Choices:
    """Return the alternatives of all names, from `RULES` and `WORDS`."""
    choices: dict[str, tuple[list[float], list[list[str]]]] = {}
    for name, rule in RULES.items():
        alternatives = [alternative.split() for alternative in rule.split("|")]
        weights = accumulate(float(weight) for weight, *_ in alternatives)
        choices[name] = list(weights), [parts for _, *parts in alternatives]
    for name, words in WORDS.items():
        alternatives = [[word] for word in words.split()]
        weights = accumulate(1 / (n + 1) for n in range(1, len(alternatives) + 1))
        choices[name] = list(weights), alternatives
    return choices
