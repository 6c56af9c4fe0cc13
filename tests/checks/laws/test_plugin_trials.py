"""Trials of plugins: those of the package pass, and a wrong result of each method is refused."""

import re
from dataclasses import MISSING, dataclass, fields
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from emulator import aggregation, codecs, modulation, optimizers, schedules, synchronization
from emulator.checks.laws import plugin_trials
from emulator.checks.laws.codec_laws import BrokenLaw
from emulator.checks.laws.plugin_trials import TRIALS, patience_doubt
from emulator.codecs import Gradient
from emulator.layout import Layout, Variable
from emulator.optimizers.base import Modulated
from tests.fakes.installing.doc_blocks import blocks
from tests.layers import ROOT

LAYOUT = Layout(
    (Variable("a", (3, 4), "dense", 1), Variable("b", (4,), "bias", 1)),
)
FAMILIES = {
    "codec": codecs.FAMILY,
    "modulation": modulation.FAMILY,
    "synchronization": synchronization.FAMILY,
    "optimizer": optimizers.FAMILY,
    "aggregation": aggregation.FAMILY,
    "schedule": schedules.FAMILY,
}
MADE = [
    (part, kind, cls)
    for part, family in FAMILIES.items()
    for kind, cls in family.classes.items()
    if all(MISSING is not f.default or MISSING is not f.default_factory for f in fields(cls))
]


@pytest.mark.parametrize(("part", "kind", "cls"), MADE, ids=lambda value: str(value)[:20])
def test_the_plugins_of_the_package_pass(part: str, kind: str, cls: Any) -> None:
    TRIALS[part](cls(), LAYOUT, ("a-0", "a-1"))


@dataclass(frozen=True)
class Given:
    """A plugin whose methods return what it is given."""

    made: Any = None
    size: Any = 0

    def start(self, *_: Any) -> Any:
        return self.made

    def memory(self, *_: Any) -> Any:
        return self.size

    def combine(self, _: Any) -> Any:
        return self.made

    def pull(self, *_: Any) -> Any:
        return self.made

    push = pull


class Modulator:
    oldest = 0

    def __init__(self, divisor: Any) -> None:
        self._divisor = divisor

    def divisor(self, *_: Any) -> Any:
        return self._divisor

    def applied(self, *_: Any) -> None: ...

    forget = applied


class Descent:
    everywhere = True

    def __init__(self, state: Any, step: float = 0) -> None:
        self._state, self._step = state, step

    def step(self, theta: Any, _: Any) -> None:
        theta[:] = self._step

    def state(self) -> Any:
        return self._state

    def restore(self, _: Any) -> None: ...


class Waits:
    """A synchronizer that makes `step` of each gradient, and waits until `at`."""

    def __init__(self, step: Any = None, at: Any = None) -> None:
        self._step, self._at = step, at

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None

    def arrive(self, *_: Any) -> Any:
        return self._step

    def deadline(self) -> Any:
        return self._at


HALVED = Modulated(Gradient(np.zeros(LAYOUT.size, np.float32)), 0.5, np.ones(1, np.float32))


@pytest.mark.parametrize(
    ("part", "plugin", "says"),
    [
        ("modulation", Given(), "start returns None, which lacks oldest and divisor"),
        ("modulation", Given(size=None), "memory returns None: a number of bytes"),
        ("modulation", Given(Modulator("x")), "divisor returns <U1"),
        ("modulation", Given(Modulator(0.5)), "divisor returns a number that is not 1 or more"),
        ("modulation", Given(Modulator(np.nan)), "divisor returns a number that is not 1 or"),
        ("modulation", Given(Modulator(np.ones(3))), r"float64\[3\]: one number was expected"),
        ("optimizer", Given(Descent(None)), "state returns None: a mapping of arrays"),
        ("optimizer", Given(Descent({"m": [1]})), "state has 'm', which is no array of float32"),
        ("optimizer", Given(Descent({}, np.nan)), "step leaves a model that is not one vector"),
        ("aggregation", Given(), "combine returns None: gradients were expected"),
        ("aggregation", Given([1.0]), "combine returns a float in place of a Modulated"),
        ("schedule", Given(((1, 2),)), r"pull returns \(\(1, 2\),\): pairs of layers from 1 to 1"),
        ("schedule", Given(), "pull returns None"),
        ("aggregation", Given([HALVED]), "shares that add up to 0.5, and not to 1"),
        ("synchronization", Given(3), "start returns a int, which lacks releases"),
        ("synchronization", Given(Waits(step="all")), "a step is a str: a list of arrivals"),
        ("synchronization", Given(Waits(step=["a-9"])), "an arrival that it was not given"),
        ("synchronization", Given(Waits(at="soon")), "deadline returns a str: a time or None"),
    ],
)
def test_a_wrong_result_is_refused(part: str, plugin: Any, says: str) -> None:
    with pytest.raises(BrokenLaw, match=says):
        TRIALS[part](plugin, LAYOUT, ("a-0", "a-1"))


def test_attributes_count_where_annotations_are_made_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lazy:
        """A protocol as Python 3.14 makes it: its `vars` hold no annotations."""

        def step(self) -> None: ...

    monkeypatch.setattr(plugin_trials.inspect, "get_annotations", lambda cls: {"everywhere": bool})
    assert plugin_trials._methods(Lazy) == ["step", "everywhere"]


# -- how a synchronization waits ---------------------------------------------------------------

SHOWN = next(
    text for text in blocks(ROOT / "docs" / "own-plugin.md", "python") if "class First" in text
)
PROTOCOL = SHOWN.index("    # -- the protocol `Patient`")
ENDLESS = SHOWN.replace("return self.due\n", "return None\n")


def first(source: str, **fields: Any) -> Any:
    """Return the synchronization that docs/own-plugin.md shows, of another `source`."""
    module = ModuleType("first")
    exec(source, module.__dict__)
    return module.First(**fields)


@pytest.mark.parametrize(
    ("part", "kind", "cls"), [made for made in MADE if made[0] == "synchronization"]
)
def test_no_doubt_is_about_a_synchronization_of_the_package(part: str, kind: str, cls: Any) -> None:
    assert patience_doubt(cls(), "abcd") == "" == patience_doubt(cls(), "a")


@pytest.mark.parametrize(
    ("source", "count", "doubt"),
    [
        (SHOWN, 4, ""),
        (SHOWN[:PROTOCOL], 4, "it gives up a device .* `Patient`"),
        (SHOWN.replace("def take_left_out", "def take"), 4, "it gives up a device"),
        (ENDLESS, 4, "devices wait without an end for one that sends nothing"),
        (ENDLESS[: PROTOCOL - 3], 4, "devices wait without an end"),
        (ENDLESS[: PROTOCOL - 3], 1, ""),  # nobody waits
    ],
)
def test_a_synchronization_that_waits_has_a_patience_and_counts(
    source: str, count: int, doubt: str
) -> None:
    found = patience_doubt(first(source, count=count), "abcd")
    assert re.match(doubt, found) and bool(doubt) == bool(found)


def test_the_synchronization_of_the_page_leaves_a_device_out_and_takes_it_back() -> None:
    state = first(SHOWN, count=3).start({"a", "b", "c"})
    assert state.arrive("a", 1, 0.0) is None and state.arrive("b", 2, 1.0) is None
    assert state.deadline() == 5.0 and state.tick(4.9) is None and state.holds("a")
    assert state.tick(5.0) == [1, 2] and not state.holds("a")
    assert state.take_left_out() == [("c", 1, 1)]
    assert state.arrive("a", 3, 6.0) is None and state.arrive("b", 4, 6.0) == [3, 4]
    assert state.arrive("c", 5, 7.0) is None  # it is waited for again
    assert state.arrive("a", 6, 7.0) is None and state.arrive("b", 7, 7.0) == [5, 6, 7]
    assert state.left_out() == [("c", 2, 3)]
    assert state.arrive("a", 8, 8.0) is None and state.departed("c", 8.0) is None
    assert state.departed("b", 8.0) == [8]
