"""The keys of a link in netem's words: read, written back, and refused where they make no sense."""

import json
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.checks.links import short_limits
from emulator.errors import ScenarioError
from emulator.scenario import Scenario, overview
from emulator.scenario.overview import describe_side
from emulator.scenario.reading.dump import dump
from emulator.scenario.reading.load import loads
from emulator.scenario.unkept import unkept
from emulator.shaping import tc
from emulator.shaping.backend import Backend
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links import reshaping
from emulator.world.links.link import Distribution, Link, Side
from emulator.world.links.loss_models import FourStates, Gemodel, LossModel

HEAD = """\
name: links
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
stop: {updates: 200}
"""
ALL = """\
devices:
  - name: peer
    link:
      up:
        {rate: 1mbit, delay: 20ms, jitter: 2ms, distribution: pareto, correlation: 25%,
         loss_model: {gemodel: {p: 1%, r: 25%, 1-h: 90%}}, duplicate: 1%, corrupt: 0.1%,
         reorder: 5%, gap: 3, limit: 100, overhead: 8}
      down: {loss_model: {state: {p13: 1%, p31: 30%}}}
"""

shares = st.integers(0, 100).map(lambda percent: Fraction(percent / 100))
gemodels = st.builds(Gemodel, shares, st.none() | shares, shares, shares)


@st.composite
def four_states(draw: Any) -> FourStates:
    p13, p31, p32, p23, p14 = (draw(st.integers(0, 100)) for _ in range(5))
    values = p13, min(p31, 100 - p32), p32, p23, min(p14, 100 - p13)
    return FourStates(*(Fraction(value / 100) for value in values))


models = st.builds(LossModel, gemodels) | st.builds(LossModel, state=four_states())


@st.composite
def sides(draw: Any) -> Side:
    delay = draw(st.integers(1, 500))
    jitter = draw(st.integers(0, delay))
    modelled = draw(st.booleans())
    reorder = draw(shares)
    return Side(
        rate=Rate(draw(st.integers(1000, 10**9))),
        delay=Seconds(delay / 1000),
        jitter=Seconds(jitter / 1000),
        loss=Fraction(0) if modelled else draw(shares),
        setup=Seconds(draw(st.integers(0, 9)) / 10),
        distribution=draw(st.sampled_from(get_args(Distribution))) if jitter else "normal",
        correlation=draw(shares) if jitter else Fraction(0),
        loss_model=draw(models) if modelled else None,
        duplicate=draw(shares),
        corrupt=draw(shares),
        reorder=reorder,
        gap=draw(st.integers(1, 9)) if reorder else 1,
        limit=draw(st.none() | st.integers(1, 10_000)),
        overhead=draw(st.integers(0, 100)),
    )


def _loaded(devices: str) -> Scenario:
    return loads(HEAD + devices)


@pytest.mark.slow
@given(sides(), sides())
def test_a_link_reads_back_from_its_plain_form(up: Side, down: Side) -> None:
    link = Link(up, down)
    assert reshaping.read(json.loads(json.dumps(reshaping.plain(link)))) == link


def test_a_side_without_the_optional_keys_is_written_as_without_them() -> None:
    side = Side(Rate(1e6), Seconds(0.02))
    assert reshaping.plain_side(side) == {"rate": 1e6, "delay": 0.02}
    scenario = _loaded("devices: [{name: peer, link: {up: {rate: 1mbit, delay: 20ms}}}]")
    assert "up: {rate: 1mbit, delay: 20ms, jitter: 0s, loss: 0%, setup: 0s}" in dump(scenario)
    (device,) = overview(scenario).plain()["devices"]
    assert list(device["up"]) == ["rate", "delay", "jitter", "loss", "setup"]


def test_a_resolved_scenario_keeps_every_key() -> None:
    scenario = _loaded(ALL)
    up = scenario.devices[0].link.up
    assert up.loss_model == LossModel(Gemodel(Fraction(0.01), Fraction(0.25), Fraction(0.9)))
    assert (up.gap, up.limit, up.overhead) == (3, 100, 8)
    assert loads(dump(scenario)) == scenario
    json.dumps(overview(scenario).plain())


def test_a_side_in_words_names_every_key() -> None:
    link = _loaded(ALL).devices[0].link
    assert describe_side(link.up) == (
        "1mbit 20ms ±2ms pareto 25% correlation 3.46% loss in bursts of 3.08 1% duplicate "
        "0.1% corrupt 5% reorder gap 3 limit 100 overhead 8"
    )
    assert describe_side(link.down) == "3.23% loss in bursts of 3.33"


MISTAKES = [
    ("{jitter: 1ms}", "", "jitter 1ms is above its delay 0s"),
    ("{delay: 1ms, distribution: pareto}", "distribution", "pareto without jitter: give `jitter`"),
    (
        "{delay: 1ms, jitter: 1ms, distribution: perato}",
        "distribution",
        "'perato' (did you mean 'pareto'?) is not normal or uniform or pareto or paretonormal",
    ),
    ("{delay: 1ms, correlation: 5%}", "correlation", "5% without jitter: give `jitter`"),
    ("{duplicate: 101%}", "duplicate", "'101%' is more than 100%"),
    ("{corrupt: 0.1}", "corrupt", "0.1 has no unit: write it in %, as 10%"),
    (
        "{reorder: 5%}",
        "reorder",
        "5% without delay, so nothing is overtaken: give `delay`",
    ),
    ("{delay: 1ms, gap: 5}", "gap", "5 without packets to reorder: give `reorder`"),
    ("{gap: 0}", "gap", "0 is too small: write a whole number from 1 up"),
    ("{limit: 0}", "limit", "0 is too small: write a whole number from 1 up"),
    ("{limit: 1e10}", "limit", "10000000000.0 is not a whole number"),
    ("{limit: 9000000000}", "limit", "9000000000 is too large: write a number up to 2147483648"),
    ("{overhead: 8}", "overhead", "8 bytes of no rate: give `rate`"),
    ("{rate: 1mbit, overhead: -1}", "overhead", "-1 is not a number of bytes from 0 to 1000"),
    (
        "{loss: 1%, loss_model: {gemodel: {p: 1%}}}",
        "loss_model",
        "either `loss` or `loss_model`: leave one of them out",
    ),
    (
        "{loss_model: {}}",
        "loss_model",
        "a loss model is either {gemodel: {p: …, r: …}} or {state: {p13: …}}",
    ),
    (
        "{loss_model: {gemodel: {p: 1%, h: 2%}}}",
        "loss_model.gemodel.h",
        "no such key: there are p, r, 1-h, 1-k",
    ),
    (
        "{loss_model: {gemodel: {r: 1%}}}",
        "loss_model.gemodel.p",
        "is missing: probability that the good state becomes bad, for each packet",
    ),
    (
        "{loss_model: {state: {p13: 60%, p14: 50%}}}",
        "loss_model.state.p14",
        "p13 and p14 are 110% together, above 100%",
    ),
    (
        "{loss_model: {state: {p13: 60%, p31: 50%, p32: 60%}}}",
        "loss_model.state.p32",
        "p31 and p32 are 110% together, above 100%",
    ),
]


def test_all_mistakes_are_told_at_once_each_with_its_line() -> None:
    lines = ["devices:"]
    for number, (side, _, _) in enumerate(MISTAKES):
        lines += [f"  - name: d{number}", f"    link: {{up: {side}}}"]
    with pytest.raises(ScenarioError) as refusal:
        _loaded("\n".join(lines))
    found = [(each["line"], each["place"], each["message"]) for each in refusal.value.mistakes]
    first = HEAD.count("\n") + 3
    for number, (_, key, message) in enumerate(MISTAKES):
        place = f"devices[{number}].link.up" + (f".{key}" if key else "")
        assert (first + 2 * number, place, message) in found
    assert len(found) == len(MISTAKES)


def test_several_mistakes_of_one_side_are_told_at_their_keys() -> None:
    with pytest.raises(ScenarioError) as refusal:
        _loaded(
            "devices:\n  - name: peer\n    link:\n      up:\n        distribution: pareto\n"
            "        reorder: 1%\n        overhead: 4\n"
        )
    lines = [(each["line"], each["place"].split(".")[-1]) for each in refusal.value.mistakes]
    assert lines == [(8, "distribution"), (9, "reorder"), (10, "overhead")]


@given(models)
def test_the_shares_of_a_chain_are_stationary(model: LossModel) -> None:
    chain = model.chain
    after = [
        sum(share * steps[state] for share, steps in zip(chain.shares, chain.steps, strict=True))
        for state in range(len(chain.shares))
    ]
    assert sum(chain.shares) == pytest.approx(1)
    assert after == pytest.approx(chain.shares, abs=1e-9)
    assert all(sum(steps) == pytest.approx(1) for steps in chain.steps)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("model", "mean", "burst"),
    [
        (LossModel(Gemodel(Fraction(0.02), Fraction(0.2))), 0.02 / 0.22, 5),
        (LossModel(Gemodel(Fraction(0.1))), 0.1, 1 / 0.9),
        (LossModel(state=FourStates(Fraction(0.02), Fraction(0.25))), 0.02 / 0.27, 4),
        (LossModel(Gemodel(Fraction(0.0))), 0, 0),
        (LossModel(Gemodel(Fraction(0.5), Fraction(0))), 1, float("inf")),
    ],
)
def test_mean_and_burst_are_those_of_the_draws(model: LossModel, mean: float, burst: float) -> None:
    assert (model.chain.mean, model.chain.burst) == pytest.approx((mean, burst))
    draws = model.chain.draws(Random(7))
    lost = [next(draws) for _ in range(100_000)]
    assert sum(lost) / len(lost) == pytest.approx(mean, rel=0.05, abs=0.001)
    bursts = sum(now and not before for before, now in zip([False, *lost], lost, strict=False))
    if 0 < mean < 1:
        assert sum(lost) / bursts == pytest.approx(burst, rel=0.05)


def test_a_charged_frame_has_its_overhead_and_its_duplicates() -> None:
    side = Side(Rate(8e6), overhead=86, duplicate=Fraction(0.1))
    assert side.transfer(1448e3) == pytest.approx(1600e3 * 1.1 / 1e6)
    assert Side(loss=Fraction(0.1), corrupt=Fraction(0.2)).lost == pytest.approx(0.28)


def test_added_loss_is_independent_of_the_bursts() -> None:
    model = LossModel(Gemodel(Fraction(0.1), Fraction(0.3), Fraction(0.8), Fraction(0.1)))
    own, added = model.chain.mean, Fraction(0.25)
    worse = reshaping.reshaped(Link(up=Side(loss_model=model)), {"loss": added}).up
    assert worse.lost == pytest.approx(own + (1 - own) * added)
    assert worse.loss == 0
    assert reshaping.reshaped(Link(up=Side(loss_model=model)), {"rate": 0.5}).up.lost == own


def test_a_fault_that_adds_loss_to_four_states_is_refused_at_its_line() -> None:
    fault = "faults: [{kind: degrade, nodes: [peer], at: 5s, lasts: 1s, loss: 5%}]\n"
    with pytest.raises(ScenarioError) as refusal:
        _loaded(fault + ALL)
    (mistake,) = refusal.value.mistakes
    assert (mistake["line"], mistake["place"]) == (4, "faults[0].loss")
    assert mistake["message"] == (
        "of peer: a loss model `state` cannot have more loss: "
        "give the fault a `link` in place of `loss`"
    )
    assert _loaded(fault.replace("loss: 5%", "rate: 50%") + ALL).faults


def test_a_limit_below_the_bandwidth_delay_product_is_explained() -> None:
    devices = "devices: [{name: peer, link: {up: {rate: 8mbit, delay: 100ms, limit: %s}}}]"
    (warning,) = short_limits(_loaded(devices % 10))
    assert (warning.severity, warning.text) == (
        "warning",
        "devices[0].link.up.limit: 10 packets are fewer than the 67 under way at 8mbit and 100ms, "
        "so at most 1.2112mbit passes: give 67 or more, or leave it out for a queue of 250ms",
    )
    enough = _loaded(devices % 67)
    assert short_limits(enough) == []
    netem = tc.shape(enough.devices[0].link, Backend("tbf", "netem"))[-1]
    assert " netem limit 67 " in str(netem)


def test_virtual_time_names_the_keys_that_it_cannot_keep() -> None:
    scenario = _loaded(ALL)
    said = {key: each.why for each in unkept(scenario, "virtual") for key in each.keys}
    up = "devices[0].link.up"
    assert said.keys() == {f"{up}.reorder", f"{up}.gap", f"{up}.limit"}
    assert unkept(scenario, "docker") == []
    ideal = loads(HEAD + ALL + "virtual: {tcp: false}")
    lossless = {key for each in unkept(ideal, "virtual") for key in each.keys}
    assert lossless - said.keys() == {
        f"{up}.loss_model",
        f"{up}.corrupt",
        "devices[0].link.down.loss_model",
    }
