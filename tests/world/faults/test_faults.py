"""Faults: each kind's verbs, the laws they follow, the dice that devices roll themselves."""

import math
import subprocess
import sys
from itertools import islice, pairwise
from random import Random
from statistics import mean, median

import pytest

from emulator.units import Fraction, Seconds
from emulator.world import laws
from emulator.world.faults import FAULTS, Aimed, Fault, Hazard, Recurring, scheduled
from emulator.world.faults.occurrences import MOST_FAILURES, Interval
from emulator.world.laws import LAWS, Exponential, Fixed, Law, LogNormal, Normal, Uniform, Weibull
from emulator.world.verbs import Action, row
from tests.world.faults.verbs_of_kinds import VERBS_OF_KINDS

EXAMPLES: list[tuple[Law, float]] = [  # with the mean of their draws
    (Normal((Seconds(4), Seconds(0.5))), 4.0),
    (Fixed(Seconds(20)), 20),
    (Exponential(Seconds(600)), 600),
    (Uniform((Seconds(1), Seconds(5))), 3),
    (Weibull((Seconds(100), 2.0)), 100 * math.gamma(1.5)),
    (LogNormal((Seconds(6), 1.0)), 6 * math.exp(0.5)),
]


CRASH: dict[str, object] = {"kind": "crash", "begin": "kill", "end": "start"}


@pytest.mark.parametrize(("fault", "begins", "ends"), VERBS_OF_KINDS)
def test_a_fault_begins_and_ends_with_its_verbs(fault: Fault, begins: str, ends: str) -> None:
    kind, setting = fault.kind, fault.begin("a").setting
    assert fault.begin("a") == Action(begins, "a", kind, setting)
    assert fault.end("a") == Action(ends, "a", kind)
    assert (setting is not None) == row(begins).tunable


def test_every_law_has_an_example() -> None:
    assert {type(law) for law, _ in EXAMPLES} == set(LAWS.values())


@pytest.mark.parametrize(("law", "expected"), EXAMPLES)
def test_a_law_draws_times_with_its_mean(law: Law, expected: float) -> None:
    rng = Random("draws")
    draws = [law.draw(rng) for _ in range(4000)]
    assert min(draws) >= 0
    assert mean(draws) == pytest.approx(expected, rel=0.1)
    assert law.mean == pytest.approx(expected)
    assert Random("x").random() == Random("x").random()
    assert law.draw(Random("x")) == law.draw(Random("x"))


@pytest.mark.parametrize(
    "law",
    [Weibull((Seconds(1e9), 0.01)), LogNormal((Seconds(1e9), 10.0))],
    ids=["weibull", "lognormal"],
)
def test_the_widest_laws_have_a_mean_and_draws_that_are_finite(law: Law) -> None:
    dice = Random(1)
    assert math.isfinite(law.mean)
    assert all(math.isfinite(law.draw(dice)) for _ in range(10_000))


def test_lognormal_is_told_by_its_median() -> None:
    rng = Random("draws")
    draws = [LogNormal((Seconds(6), 1.0)).draw(rng) for _ in range(4000)]
    assert median(draws) == pytest.approx(6, rel=0.1)


@pytest.mark.parametrize("law", [law for law, _ in EXAMPLES])
def test_a_law_survives_json(law: Law) -> None:
    again = laws.read(laws.plain(law))
    assert again == law
    assert again.draw(Random("x")) == law.draw(Random("x"))


def test_a_law_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="law 'poisson' is not fixed or exponential"):
        laws.read({"poisson": 3.0})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(Seconds(0)),
        lambda: Uniform((Seconds(5), Seconds(1))),
        lambda: Weibull((Seconds(1), 0.0)),
        lambda: LogNormal((Seconds(1), math.nan)),
    ],
)
def test_a_law_that_cannot_be_drawn_from_is_refused(make: object) -> None:
    with pytest.raises(ValueError):
        make()  # type: ignore[operator]


def recurring(**fields: object) -> Recurring:
    fault = scheduled(Recurring, FAULTS["crash"])(**fields)
    assert isinstance(fault, Recurring)
    return fault


def test_every_counts_from_the_end_of_one_failure_to_the_beginning_of_the_next() -> None:
    fault = recurring(every=Fixed(Seconds(10)), lasts=Fixed(Seconds(3)))
    result = list(fault.intervals(Random("x"), 40))
    assert result == [Interval(10, 13), Interval(23, 26), Interval(36, 39)]


def test_a_failure_that_does_not_last_is_for_good() -> None:
    fault = recurring(every=Fixed(Seconds(10)))
    assert list(fault.intervals(Random("x"), 1e9)) == [Interval(10, math.inf)]


def test_a_longer_horizon_only_adds_failures() -> None:
    fault = recurring(every=Exponential(Seconds(10)), lasts=Exponential(Seconds(1)))
    short, long = (list(fault.intervals(Random("x"), horizon)) for horizon in (100, 1000))
    assert 0 < len(short) < len(long)
    assert long[: len(short)] == short


def test_failing_without_end_is_refused_rather_than_compiled() -> None:
    fault = recurring(every=Fixed(Seconds(0)), lasts=Fixed(Seconds(0)))
    with pytest.raises(ValueError, match=f"more than {MOST_FAILURES:,} failures"):
        list(fault.intervals(Random("x"), 10))


@pytest.mark.parametrize(
    "fields", [{}, {"every": Fixed(Seconds(1)), "per_iteration": Fraction(0.1)}]
)
def test_a_recurring_fault_says_in_one_way_how_often(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="say when: `at`, `every` or `per_iteration`"):
        recurring(**fields)


def test_an_aimed_fault_without_an_end_is_for_good() -> None:
    aimed = scheduled(Aimed, FAULTS["partition"])
    struck = aimed(nodes=("a",), at=Fixed(Seconds(60)))
    assert isinstance(struck, Aimed)
    assert list(struck.intervals(Random("x"), 100)) == [Interval(60, math.inf)]
    assert struck.begin("a").verb == "sever"


def test_a_devices_image_needs_no_more_than_python_for_its_dice() -> None:
    code = "import sys, emulator.world.faults; assert not {'pydantic', 'yaml'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def strikes(config: list[dict[str, object]], device: str = "a", incarnation: int = 0) -> list[int]:
    dice = Hazard(config, 7, device, incarnation)
    return [number for number in range(20_000) if dice.strike()]


def test_hazards_strike_as_often_as_they_say() -> None:
    fault = recurring(per_iteration=Fraction(0.01), lasts=Uniform((Seconds(1), Seconds(5))))
    config = fault.hazard()
    verbs = {"begin": "kill", "end": "start", "setting": None}
    law = {"uniform": [1.0, 5.0]}
    assert config == {"kind": "crash", **verbs, "per_iteration": 0.01, "lasts": law}
    assert len(strikes([config])) == pytest.approx(200, rel=0.25)


def test_each_boot_of_each_device_has_dice_of_its_own() -> None:
    config = [{**CRASH, "per_iteration": 0.01, "lasts": None}]
    first = strikes(config)
    assert first == strikes(config)
    assert first != strikes(config, incarnation=1)
    assert first != strikes(config, "b")


def test_what_strikes_says_what_it_is_and_how_long_it_lasts() -> None:
    sure = {**CRASH, "per_iteration": 1.0, "lasts": {"fixed": 2.0}}
    partition: dict[str, object] = {"kind": "partition", "begin": "sever", "end": "mend"}
    later = {**partition, "per_iteration": 1.0, "lasts": None}
    crash = Action("kill", "x", "crash"), Action("start", "x", "crash"), 2.0
    assert Hazard([sure, later], 7, "x", 0).strike() == crash
    cut = Action("sever", "x", "partition"), Action("mend", "x", "partition"), None
    assert Hazard([later, sure], 7, "x", 0).strike() == cut
    assert Hazard([], 7, "x", 0).strike() is None
    assert Hazard([{**sure, "per_iteration": 0.0}], 7, "x", 0).strike() is None


def flap(interval: Interval, outage: Law, uptime: Law) -> list[Interval]:
    fault = FAULTS["flap"](outage=outage, uptime=uptime)  # type: ignore[call-arg]
    return list(islice(fault.episodes(interval, Random("x")), 100))  # type: ignore[attr-defined]


def test_a_flap_cuts_at_its_beginning_and_comes_back_at_its_end() -> None:
    cuts = flap(Interval(10, 22), Fixed(Seconds(2)), Fixed(Seconds(3)))
    assert cuts == [Interval(10, 12), Interval(15, 17), Interval(20, 22)]
    assert flap(Interval(10, 21), Fixed(Seconds(2)), Fixed(Seconds(3)))[-1] == Interval(20, 21)


def test_a_flap_draws_every_cut_and_every_time_between() -> None:
    law = Uniform((Seconds(1), Seconds(2)))
    cuts = flap(Interval(0, math.inf), law, Exponential(Seconds(10)))
    assert len(cuts) == 100
    assert all(1 <= end - begin <= 2 for begin, end in cuts)
    assert len({round(end - begin, 6) for begin, end in cuts}) == 100
    gaps = [after.begin - before.end for before, after in pairwise(cuts)]
    assert mean(gaps) == pytest.approx(10, rel=0.3)
    fewer = flap(Interval(0, 50), law, Exponential(Seconds(10)))
    assert fewer[:-1] == cuts[: len(fewer) - 1]


def test_a_fault_that_comes_and_goes_is_not_drawn_by_iteration() -> None:
    laws_of = {"outage": Fixed(Seconds(1)), "uptime": Fixed(Seconds(1))}
    with pytest.raises(
        ValueError, match="per_iteration: draws one strike, and the kind comes and goes"
    ):
        scheduled(Recurring, FAULTS["flap"])(per_iteration=Fraction(0.1), **laws_of)
