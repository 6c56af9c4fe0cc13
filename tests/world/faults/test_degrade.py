"""The fault `degrade`: what becomes of a link, and how a scenario asks for it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.scenario import loads
from emulator.scenario.reading.dump import dump
from emulator.scenario.timeline.compiled import timeline
from emulator.scenario.timeline.link_changes import link_moments, reshaped_links
from emulator.scenario.timeouts import answer_timeout, slowest_exchange
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links import reshaping
from emulator.world.links.link import Link, Side
from emulator.world.links.reshaping import reshaped
from tests.fakes.small_scenario import mistakes, small

SIDES = st.builds(
    Side,
    rate=st.none() | st.floats(1e3, 1e10).map(Rate),
    delay=st.floats(0.1, 10).map(Seconds),
    jitter=st.floats(0, 0.1).map(Seconds),
    loss=st.floats(0, 0.5).map(Fraction),
    setup=st.floats(0, 1).map(Seconds),
)
LINKS = st.builds(Link, SIDES, SIDES)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "rate": st.floats(0.001, 1),
        "delay": st.floats(0, 10),
        "loss": st.floats(0, 0.9),
    },
)


@given(LINKS, SETTINGS)
def test_a_worse_link_is_never_better(link: Link, setting: dict[str, float]) -> None:
    worse = reshaped(link, setting)
    for was, now in ((link.up, worse.up), (link.down, worse.down)):
        assert (was.rate is None) == (now.rate is None)
        if was.rate is not None and now.rate is not None:
            assert 0 < now.rate <= was.rate
        assert now.delay >= was.delay and was.loss <= now.loss <= 1
        assert (now.jitter, now.setup) == (was.jitter, was.setup)
        assert now.transfer(1000) >= was.transfer(1000)


@pytest.mark.slow
@given(LINKS, LINKS)
def test_a_link_survives_json_and_stands_in_for_another(link: Link, other: Link) -> None:
    plain = json.loads(json.dumps(reshaping.plain(link)))
    assert reshaping.read(plain) == link
    assert reshaped(other, {"link": plain}) == link
    assert reshaped(link, None) == link == reshaped(link, {})


def test_a_packet_has_to_survive_both_losses() -> None:
    link = Link(up=Side(rate=Rate(8e6), delay=Seconds(0.02), loss=Fraction(0.1)))
    worse = reshaped(link, {"rate": 0.25, "delay": 0.1, "loss": 0.2})
    expected = Side(rate=Rate(2e6), delay=Seconds(0.02 + 0.1), loss=Fraction(0.28))
    assert worse == Link(up=expected, down=Side(delay=Seconds(0.1), loss=Fraction(0.2)))


FAULT = "{kind: degrade, nodes: [one], at: 5s, lasts: 10s, %s}"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("count: 1", "say how the link changes: give `rate`, `delay`, `loss` or `link`"),
        ("link: 2g, loss: 1%, rate: 5%", "`link` replaces the whole link: leave out rate and loss"),
        ("rate: 0%", "rate 0%: a rate is above zero; to cut a link, use a partition"),
        ("link: 2q", "faults[0].link: '2q' is no link preset: there are 2g"),
        ("rate: 120%", "'120%' is more than 100%"),
    ],
)
def test_a_change_that_says_nothing_or_too_much_is_refused(keys: str, message: str) -> None:
    fault = FAULT % keys
    (said,) = mistakes(("stop:", f"faults: [{fault}]\nstop:"))
    assert message in said and said.startswith("scenario:6: faults[0]")


def test_a_preset_is_read_in_a_scenario_and_in_a_profile() -> None:
    profile = (
        "failures: [{name: mine, faults: [{kind: degrade, every: 10s, lasts: 2s, link: dial}]}]"
    )
    scenario = small(
        ("{updates: 10}", "{time: 20s}"),
        ("count: 2", f"count: 2, {profile}"),
        ("stop:", f"faults: [{FAULT % 'link: 2g'}]\nstop:"),
    )
    changed = {
        (timed.action.node, timed.action.verb): timed.action.setting for timed in timeline(scenario)
    }
    dial = small(("count: 2", "count: 2, link: dial")).devices[1].link
    assert changed["pair-0", "reshape"] == {"link": reshaping.plain(dial)}
    assert changed["one", "reshape"] != changed["pair-0", "reshape"]
    assert changed["one", "restore"] is None
    again = loads(dump(scenario), folder="/")
    assert again == scenario and timeline(again) == timeline(scenario)


def test_time_outs_and_the_kernels_means_count_with_changed_links() -> None:
    plain = small(("- name: one", "- {name: one, link: fios}"))
    worse = small(
        ("- name: one", "- {name: one, link: fios}"),
        ("stop:", f"faults: [{FAULT % 'rate: 1%'}]\nstop:"),
    )
    (link,) = reshaped_links(worse)["one"]
    own = worse.devices[0].link
    assert reshaped_links(worse).keys() == {"one"} and not reshaped_links(plain)
    assert own.up.rate is not None and link.up.rate == pytest.approx(own.up.rate / 100)
    assert slowest_exchange(worse, 10**6) > 50 * slowest_exchange(plain, 10**6)
    assert answer_timeout(worse, own, 10**6, [link]) > 10 * answer_timeout(plain, own, 10**6)
    assert link.up in [moment.side for moment in link_moments(worse)]
    assert math.isfinite(slowest_exchange(worse, 10**6))
