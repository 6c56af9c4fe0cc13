"""Links at every moment: what reaches the kernel and the box is playable, or refused before."""

from itertools import islice, product

import pytest

from emulator.checks.preflight import preflight
from emulator.errors import ScenarioError
from emulator.machine.host import Host
from emulator.node.config import Network
from emulator.node.link.access_link import AccessLink, reshaping_of
from emulator.scenario import Scenario, loads
from emulator.scenario.timeline.link_changes import link_faults
from emulator.shaping.backend import Backend
from emulator.shaping.box.link_request import decode, encode
from emulator.shaping.playable_link import dilated, out_of_bounds
from emulator.world.links.link_course import link_course
from emulator.world.links.reshaping import reshaped

HEAD = """
name: far
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {time: 60s}
"""
HERE = Host("here", 2, 64 << 30, 64 << 30, "6.18")

RATES = {
    "constant": "{rate: 1mbit, delay: 10ms}",
    "slow": "{rate: 100kbit, delay: 10ms}",
    "steps": "{rate: 1mbit, steps: [{at: 1s, rate: 500kbit}, {at: 2s, delay: 1s}]}",
    "outage": "{delay: 1ms, trace: {samples: '0 8000000, 3 0, 5 8000000, end 6'}}",
    "nearly": "{delay: 1ms, trace: {samples: '0 8000000, 3 120, 5 8000000, end 6'}}",
    "delays": "{trace: {samples: '0 8000000 0.04, 3 0 3, 5 8000000, end 6', loop: false}}",
    "scaled": "{delay: 1ms, trace: {samples: '0 8000000, 3 0, end 6', scale: 0.01}}",
}
DILATIONS = (1, 2, 37.5, 1000)
FAULTS = {
    "none": "",
    "rate": "{kind: degrade, nodes: [far], at: 1s, rate: 1%, lasts: 5s}",
    "worse": "{kind: degrade, nodes: [far], at: 1s, rate: 50%, delay: 4s, loss: 10%, lasts: 5s}",
    "other": "{kind: degrade, nodes: [far], at: 1s, link: 2g, lasts: 5s}",
}
SLOW_FAULT = "{kind: degrade, nodes: [far], at: 1s, link: {up: {rate: 500bit}}, lasts: 5s}"


def _scenario(side: str, dilation: float = 1, fault: str = "", more: str = "") -> Scenario:
    faults = f"faults: [{fault}]\n" if fault else ""
    device = f"devices: [{{name: far, link: {{up: {side}, down: {side}}}}}]\n"
    return loads(f"{HEAD}{device}{faults}time: {{dilation: {dilation:g}}}\n{more}")


def _refused(scenario: Scenario) -> list[str]:
    """Return the refusals of bounds of links before a run in containers."""
    found = preflight(scenario, "docker", HERE, lambda scenario: None).refusals
    return [
        str(each) for each in found if "kernel can shape" in str(each) or "longest" in str(each)
    ]


@pytest.mark.mostly_slow(quick=7)
@pytest.mark.parametrize(("kind", "fault"), list(product(RATES, FAULTS)))
def test_every_moment_is_playable_or_refused_before_the_run(kind: str, fault: str) -> None:
    """Rate × scale × factor ÷ dilation, and delay × dilation, of each sample, as the box has it."""
    for dilation in DILATIONS:
        scenario = _scenario(RATES[kind], dilation, FAULTS[fault])
        if _refused(scenario):
            assert dilation == 1000 or (kind, fault) in (("slow", "rate"), ("slow", "worse"))
            continue
        settings = [fault.begin("").setting for _, fault, _ in link_faults(scenario)]
        link = scenario.devices[0].link
        facts = reshaping_of(link, Backend(), scenario.server.link, dilation)
        for _, moment in islice(link_course(link), 20):
            for setting in (None, *settings):
                played = dilated(reshaped(moment, setting), dilation)
                assert [*out_of_bounds(played.up), *out_of_bounds(played.down)] == []
                assert decode(encode("change", "far", played)).link == played
            if settings:  # as a supervisor plays it
                near = AccessLink(Network([], [], [], reshaping=facts))
                near.change_own(moment)
                near.reshape(settings[0])


@pytest.mark.parametrize("fault", [key for key in FAULTS if key != "other"])
def test_an_outage_of_a_trace_is_no_reason_to_refuse(fault: str) -> None:
    for dilation in (1, 2, 37.5):
        assert _refused(_scenario(RATES["outage"], dilation, FAULTS[fault])) == []


@pytest.mark.parametrize(
    ("side", "fault", "dilation", "place"),
    [
        ("{rate: 100bit}", "", 2, "devices[0].link.up.rate: 100bit divided by the dilation 2"),
        ("{delay: 2h}", "", 1, "devices[0].link.up.delay: 2h is above 1h"),
        ("{delay: 10min}", "", 7, "devices[0].link.up.delay: 10min times the dilation 7"),
        ("{delay: 1h, jitter: 1h}", "", 2, "devices[0].link.up.jitter: 1h times the dilation 2"),
        ("{rate: 1mbit, setup: 1h}", "", 2, "devices[0].link.up.setup: 1h times"),
        ("{rate: 1mbit, steps: [{at: 1s, delay: 1h}]}", "", 2, "up.steps[0].delay: 1h times"),
        ("{rate: 1mbit, steps: [{at: 1s, rate: 150bit}]}", "", 2, "up.steps[0].rate: 150bit"),
        ("{trace: {samples: '0 8e6 60, end 6'}}", "", 100, "up.trace.delay: 1min times"),
        ("{rate: 5kbit}", FAULTS["rate"], 1, "faults[0]: far: link.up.rate: 50bit is not"),
        ("{delay: 1ms}", FAULTS["worse"], 1000, "faults[0]: far: link.up.delay: 4"),
        (
            "{delay: 40min}",
            "{kind: degrade, nodes: [far], at: 1s, delay: 40min}",
            1,
            "faults[0]: far: ",
        ),
        (RATES["outage"], SLOW_FAULT, 10, "faults[0]: far: link.up.rate: 500bit divided"),
        ("{rate: 500bit, trace: {samples: '0 - 0.04, end 6'}}", "", 10, "up.trace.rate: 500bit"),
        (
            "{rate: 500bit, trace: {samples: '0 8e6 0.04, 3 - 0.04, end 6'}}",
            "",
            10,
            "up.trace.rate: 500bit",
        ),
    ],
)
def test_a_moment_beyond_the_bounds_is_refused_at_its_place(
    side: str, fault: str, dilation: float, place: str
) -> None:
    refused = _refused(_scenario(side, dilation, fault))
    assert any(place in text for text in refused), refused


@pytest.mark.parametrize(
    ("side", "fault", "delay", "text"),
    [
        (
            "{rate: 1mbit, delay: 30min}",
            "",
            "40min",
            "devices[0].link.up.delay: 70min is above 1h",
        ),
        (
            "{rate: 1mbit}",
            "{kind: degrade, nodes: [far], at: 1s, link: {up: {delay: 30min}}, lasts: 5s}",
            "40min",
            "faults[0]: far: link.up.delay: 70min is above 1h",
        ),
        (
            "{rate: 1mbit}",
            "{kind: degrade, nodes: [far], at: 1s, delay: 30min, lasts: 5s}",
            "40min",
            "faults[0]: far: link.up.delay: 70min is above 1h",
        ),
        (
            "{rate: 1mbit, steps: [{at: 1s, delay: 30min}]}",
            "",
            "40min",
            "devices[0].link.up.steps[0].delay: 70min is above 1h",
        ),
        (
            "{rate: 1mbit, trace: {samples: '0 - 60, end 6'}}",
            "",
            "3570s",
            "devices[0].link.up.trace.delay: 60.5min is above 1h",
        ),
    ],
)
def test_the_delay_of_a_bottleneck_counts(side: str, fault: str, delay: str, text: str) -> None:
    """Every packet has it, whatever a step, a trace or a fault makes of the link in front."""
    street = f"{{name: street, members: [far], up: {{rate: 1mbit, delay: {delay}}}}}"
    texts = _refused(_scenario(side, 1, fault, f"bottlenecks: [{street}]\n"))
    assert texts == [f"{text}, the longest of a link"]


def test_a_scale_beyond_the_bounds_is_refused() -> None:
    with pytest.raises(ScenarioError) as refused:
        _scenario("{trace: {samples: '0 8e6, end 6', scale: 20000}}")
    assert "link.up.trace.scale: " in str(refused.value)
