"""Measurements of a host in the book: blocks that `make` targets write, beside those of studies.

They take real time, in containers or of one core, so they are worth little on a host that does
other work. `tests/benchmarks` takes them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .claim_rules import verdict
from .claims import Judged
from .declaration import Claim


@dataclass(frozen=True)
class Measurement:
    """A block with what a command measured."""

    name: str
    """Heading of the block."""
    paper: str
    """Page of the paper whose claims it tests."""
    page: str
    """Page with the block, by its path in the documentation."""
    command: str
    """Command of the marks of the block."""
    question: str


MEASUREMENTS: Mapping[str, Measurement] = {
    measurement.name: measurement
    for measurement in (
        Measurement(
            "overlap",
            "cai-2021",
            "papers/cai-2021.md",
            "make table-overlap",
            "How much sooner does an iteration end in containers, and is it as long as planned?",
        ),
        Measurement(
            "single-node",
            "hadjis-2016",
            "single-node.md",
            "make figure-single-node",
            "How much faster is one core that lowers and multiplies several images at once?",
        ),
        Measurement(
            "groups",
            "hadjis-2016",
            "predict.md",
            "make table-groups",
            "Does a group update in containers take as long as predicted?",
        ),
        Measurement(
            "tune",
            "hadjis-2016",
            "tune.md",
            "make table-tune",
            "How much slower than the best of a grid are the tuner's choices?",
        ),
        Measurement(
            "tune-fresh",
            "hadjis-2016",
            "tune.md",
            "make table-tune-fresh",
            "How good are the tuner's choices on fleets that had no part in finding its rule?",
        ),
    )
}
"""Measurements by name."""


def judge_values(
    claim: Claim, values: Mapping[str, float], words: Callable[[float], str]
) -> Judged:
    """Return `claim` with its verdict by `values`, each of which has a name.

    `words` writes the least and the most of them.
    """
    found = verdict(claim.rule, claim.bound, list(values.values()))
    ends = sorted(values, key=lambda name: values[name])
    shown = dict.fromkeys([ends[0], ends[-1]]) if ends else {}
    told = " to ".join(f"{words(values[name])} ({name})" for name in shown)
    return Judged(claim, found, told or "nothing was measured")
