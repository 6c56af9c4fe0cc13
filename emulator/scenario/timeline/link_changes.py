"""The links of a scenario that change by themselves: their random starts, and words about them."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ... import chance
from ...units import Rate, Seconds, three_digits
from ...world.links.link import Side
from ...world.links.traces.trace_statistics import statistics

_LISTED = 3
"""Steps of a side that a table lists; it counts the others."""


def start_draw(seed: int, device: str) -> float:
    """Return the draw, from 0 to below 1, that places traces with a random start on `device`."""
    return Random(chance.trace_start(seed, device)).random()


def step_words(steps: Sequence[Mapping[str, Any]]) -> str:
    """Return `steps` in words, for example `from 10s rate 1mbit; from 20s delay 80ms loss 1%`."""
    words = []
    for step in steps[:_LISTED]:
        new = " ".join(f"{key} {value}" for key, value in step.items() if key != "at")
        words.append(f"from {step['at']} {new}")
    if len(steps) > _LISTED:
        words.append(f"{len(steps) - _LISTED} more until {steps[-1]['at']}")
    return "; ".join(words)


def change_words(side: Side) -> str:
    """Return the changes of `side` in words; empty for a side without changes."""
    if side.steps:
        return f"({step_words([{'at': step.at, **step.named} for step in side.steps])})"
    if side.trace is None:
        return ""
    played, found = side.trace, statistics(side.trace.trace.scaled(side.trace.scale))
    words = [f"trace {played.file or ''}".strip(), f"of {Seconds(round(found.duration, 3))}"]
    words += ["looped"] if played.loop else []
    words += [f"from {played.start}"] if played.start else []
    if found.rate is not None:
        mean, low, high = (
            Rate(three_digits(rate)) if rate else "0"
            for rate in (found.rate.mean, found.rate.p5, found.rate.p95)
        )
        words.append(f"(mean {mean}, p5 {low}, p95 {high}, {found.outage:.1%} outage)")
    return " ".join(words)


def change_facts(side: Side) -> dict[str, Any]:
    """Return the changes of `side` as JSON types: the steps, or the trace's statistics."""
    facts: dict[str, Any] = {}
    if side.steps:
        facts["steps"] = [step.plain() for step in side.steps]
    if side.trace is not None:
        played = side.trace
        start = None if played.start.random else float(played.start)
        keys = {"file": played.file, "loop": played.loop, "scale": played.scale, "start": start}
        facts["trace"] = {**keys, **statistics(played.trace.scaled(played.scale)).plain()}
    return facts
